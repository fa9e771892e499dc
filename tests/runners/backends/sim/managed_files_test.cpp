// tests/runners/backends/sim/managed_files_test.cpp — Goal: a program of somebody else's writes checkpoints
// and litter while it is played on the simulated cluster. Afterwards every file is what its user had, however
// the run ended, and each run begins from that.
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <iterator>
#include <map>

#include "runners/backends/process/journal.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

// Continues from ckpt/last.pt. `argv[1]`: how it ends.
constexpr const char* saves = R"(import os, sys, tempfile, torch, torch.distributed as dist
dist.init_process_group("nccl")
rank, last = dist.get_rank(), "ckpt/last.pt"
first = torch.load(last)["step"] + 1 if os.path.exists(last) else 0
if rank == 0: print("begins with step", first, flush=True)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(4, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
os.makedirs("out/deep", exist_ok=True)
open(f"out/deep/{rank}", "w").write("litter")
open("notes.txt", "a").write("more")
with tempfile.NamedTemporaryFile(delete=False) as kept: kept.write(b"litter")
for step in range(first, first + 12):
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
    optimizer.zero_grad()
    if rank == 0:
        torch.save({"step": step}, last + ".tmp")
        os.replace(last + ".tmp", last)
    dist.barrier()
if sys.argv[1] == "fails": raise RuntimeError("on purpose")
if sys.argv[1] == "spins":
    print("spinning", flush=True)
    while True: pass
)";

std::map<std::string, std::string> files_below(const fs::path& directory) {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
        std::string& content = all[entry.path().string()];
        if (!entry.is_regular_file()) continue;
        std::ifstream in(entry.path());
        content.assign(std::istreambuf_iterator<char>(in), {});
    }
    return all;
}

class DeviceManagedFiles : public testing::Test {
protected:
    void SetUp() override {
        const auto python = best_python();
        if (!python) GTEST_SKIP() << python.error().text();
        if (files_shim().empty()) GTEST_SKIP() << "libdeadrank-files.so was not built (sanitizers)";
        fs::create_directories(directory_ / "theirs/ckpt");
        fs::create_directories(directory_ / "tmp");
        std::ofstream(directory_ / "theirs/train.py") << saves;
        std::ofstream(directory_ / "theirs/notes.txt") << "mine";
        const auto made = tests::shell(
            fmt::format("cd {} && '{}' -c \"import torch; torch.save({{'step': 1}}, 'ckpt/last.pt')\"",
                        (directory_ / "theirs").string(), python->program.string()));
        ASSERT_EQ(made.code, 0) << made.out;
        before_ = files_below(directory_ / "theirs");
    }
    void TearDown() override { fs::remove_all(directory_); }

    tests::Answer deadrank(const std::string& arguments) const {
        return tests::shell(
            fmt::format("cd {0}/theirs; DEADRANK_STATE={0}/state TMPDIR={0}/tmp {1}/deadrank {2}",
                        directory_.string(), DEADRANK_BINARY_DIRECTORY, arguments));
    }
    void expect_unharmed() const {
        EXPECT_EQ(files_below(directory_ / "theirs"), before_);
        EXPECT_THAT(files_below(directory_ / "tmp"), testing::IsEmpty());
        const auto left = leftovers(directory_ / "state/undo");
        ASSERT_TRUE(left) << left.error().text();
        for (const Leftover& one : *left) EXPECT_THAT(one.actions, testing::IsEmpty()) << one.journal;
    }

    const fs::path directory_ = fs::temp_directory_path() / fmt::format("deadrank-managed-{}", getpid());
    std::map<std::string, std::string> before_;
};

TEST_F(DeviceManagedFiles, AreAsTheyWereAfterAWatch) {
    const auto seen = deadrank("watch --simulated -- torchrun --nproc-per-node 2 train.py well 2>&1");
    EXPECT_EQ(seen.code, 0) << seen.out;
    EXPECT_THAT(seen.out, HasSubstr("begins with step 2"));
    EXPECT_THAT(seen.out, HasSubstr("of what the program changed, the run restored 2 files"));
    expect_unharmed();
}

// safetensors renames its file by a system call of its own, which no library in front of libc sees.
TEST_F(DeviceManagedFiles, OfSafetensorsAreGivenBack) {
    const auto python = best_python();
    if (version_of(*python, "safetensors").empty())
        GTEST_SKIP() << "safetensors is not installed for " << python->program;
    std::ofstream(directory_ / "theirs/ckpt/model.safetensors") << "mine";
    std::ofstream(directory_ / "theirs/models.py") << R"(import torch, torch.distributed as dist
from safetensors.torch import save_file
dist.init_process_group("gloo")
if dist.get_rank() == 0:
    for name in ("ckpt/model.safetensors", "new.safetensors"): save_file({"a": torch.ones(3)}, name)
dist.barrier()
dist.destroy_process_group()
)";
    before_ = files_below(directory_ / "theirs");
    const auto seen = deadrank("watch --simulated -- torchrun --nproc-per-node 2 models.py 2>&1");
    EXPECT_EQ(seen.code, 0) << seen.out;
    EXPECT_THAT(seen.out, HasSubstr("restored 1 file and removed 1 name"));
    expect_unharmed();
}

TEST_F(DeviceManagedFiles, StayWhereTheUserAsksForIt) {
    const auto seen =
        deadrank("watch --simulated --keep-files -- torchrun --nproc-per-node 2 train.py well 2>&1");
    EXPECT_EQ(seen.code, 0) << seen.out;
    EXPECT_TRUE(fs::exists(directory_ / "theirs/out/deep/1"));
    const auto again = deadrank("watch --simulated -- torchrun --nproc-per-node 2 train.py well 2>&1");
    EXPECT_THAT(again.out, HasSubstr("begins with step 14"));
}

TEST_F(DeviceManagedFiles, AreTheSameAtTheBeginningOfEachRun) {
    const auto seen = deadrank(
        "run communication/rank_leaves_all_reduce --out ../seen -- torchrun --nproc-per-node 2 "
        "train.py well 2>&1");
    EXPECT_THAT(seen.out, HasSubstr("1 pass")) << seen.out;
    int begun = 0;
    for (const auto& [path, content] : files_below(directory_ / "seen")) {
        if (!path.ends_with("evidence.jsonl")) continue;
        EXPECT_THAT(content, HasSubstr("begins with step 2")) << path;
        EXPECT_THAT(content, Not(HasSubstr(directory_ / "tmp/deadrank"))) << path;
        ++begun;
    }
    EXPECT_EQ(begun, 3);
    expect_unharmed();
}

TEST_F(DeviceManagedFiles, AreAsTheyWereAfterAFailure) {
    const auto seen = deadrank("watch --simulated -- torchrun --nproc-per-node 2 train.py fails 2>&1");
    EXPECT_NE(seen.code, 0);
    EXPECT_THAT(seen.out, HasSubstr("on purpose"));
    expect_unharmed();
}

TEST_F(DeviceManagedFiles, AreAsTheyWereAfterEachSignalThatEndsACommand) {
    using Ending = std::pair<const char*, int>;
    for (const auto& [signal, code] : {Ending{"INT", 130}, Ending{"TERM", 143}, Ending{"HUP", 129}}) {
        const auto seen = deadrank(fmt::format(
            "watch --simulated -- torchrun --nproc-per-node 2 train.py spins > ../said.{0} 2>&1 & "
            "started=$!; "
            "for i in $(seq 600); do grep -q spinning ../said.{0} 2>/dev/null && break; sleep 0.1; done; "
            "kill -{0} $started; wait $started; echo code $?",
            signal));
        EXPECT_THAT(seen.out, HasSubstr(fmt::format("code {}", code))) << signal;
        expect_unharmed();
    }
}

}  // namespace
}  // namespace deadrank::runners
