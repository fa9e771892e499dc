// tests/runners/backends/local/unharmed_test.cpp — Goal: a program of somebody else's that saves beside and
// renames, in a directory of its own, is damaged, killed and started again; afterwards every file is what its
// user had. Each run begins from that, and a damage that met no file is not said to have happened.
#include <cstdlib>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <iterator>
#include <map>
#include <set>
#include <unistd.h>

#include "runners/backends/local/local_runner.h"
#include "runners/backends/process/journal.h"
#include "runners/backends/process/kept_files.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "tests/runners/backends/local/small_plan.h"
#include "tests/support/shell.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::HasSubstr;

// Resumes from ckpt/last.pt, below wherever it was started.
constexpr const char* program = R"(import os, sys, time, torch, torch.distributed as dist
last, pause, first = "ckpt/last.pt", float(sys.argv[1]), 0
weight = torch.zeros(20_000)
if "RANK" not in os.environ:  # before anybody watches
    torch.save({"weight": weight, "step": 1}, last)
    sys.exit()
dist.init_process_group("gloo")
model = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
if os.path.exists(last):
    state = torch.load(last)
    weight, first = state["weight"], state["step"] + 1
print("begins with step", first, flush=True)
for step in range(first, 8):
    weight += 1
    model(torch.ones(4)).sum().backward()
    optimizer.step()
    dist.all_reduce(torch.ones(1))
    if dist.get_rank() == 0 and step % 2 == 1:
        torch.save({"weight": weight, "step": step}, last + ".tmp")
        os.replace(last + ".tmp", last)
    dist.barrier()
    time.sleep(pause)
)";

std::map<std::string, std::string> tree_of(const fs::path& directory) {
    std::map<std::string, std::string> all;
    for (const auto& entry : fs::recursive_directory_iterator(directory)) {
        std::string& content = all[entry.path().string()];
        if (!entry.is_regular_file()) continue;
        std::ifstream in(entry.path());
        content.assign(std::istreambuf_iterator<char>(in), {});
    }
    return all;
}

class DeviceUnharmed : public testing::Test {
protected:
    void SetUp() override {
        const auto python = best_python();
        if (!python) GTEST_SKIP() << python.error().text();
        if (python->major() < 2) GTEST_SKIP() << "torch 1.13 spells the options otherwise";
        if (files_shim().empty()) GTEST_SKIP() << "libdeadrank-files.so was not built (sanitizers)";
        ::setenv("DEADRANK_STATE", (directory_ / "state").c_str(), 1);
        fs::create_directories(directory_ / "theirs/ckpt");
        std::ofstream(directory_ / "theirs/train.py") << program;
        const auto made = tests::shell(fmt::format(
            "cd {} && '{}' train.py 0", (directory_ / "theirs").string(), python->program.string()));
        ASSERT_EQ(made.code, 0) << made.out;
        before_ = tree_of(directory_ / "theirs");
    }
    void TearDown() override {
        ::unsetenv("DEADRANK_STATE");
        fs::remove_all(directory_);
    }

    std::string command(double pause) const {
        return fmt::format(
            "cd {} && exec torchrun --standalone --nproc-per-node 2 --max-restarts 1 train.py {}",
            (directory_ / "theirs").string(), pause);
    }
    scenarios::Result<Record> play(std::vector<scenarios::FaultSpec> faults) const {
        Manifest manifest = typed_subject({"sh", "-c", command(0)});
        manifest.environment["TORCH_DISABLE_SHARE_RDZV_TCP_STORE"] = "1";
        scenarios::Plan plan = small_plan("data_parallel", 1, 2, 8);
        plan.workload.clear();
        plan.faults = std::move(faults);
        return LocalRunner(manifest).run(plan, {});
    }
    static scenarios::FaultSpec damage(const std::string& path, std::int64_t step) {
        scenarios::FaultSpec spec{.kind = "corrupt_checkpoint"};
        spec.parameters["how"] = {.type = scenarios::ValueType::choice, .text = "truncate"};
        spec.parameters["path"] = {.type = scenarios::ValueType::text, .text = path};
        spec.when.step = step;
        return spec;
    }
    // The first words of each rank of the job's first life.
    static std::vector<std::string> words(const Record& record) {
        std::vector<std::string> lines;
        for (const results::Event* event : record.evidence.each<results::RankLog>())
            lines.emplace_back(record.evidence.text(event->as<results::RankLog>()->line));
        return lines;
    }
    void expect_unharmed() const {
        EXPECT_EQ(tree_of(directory_ / "theirs"), before_);
        const auto left = leftovers();
        ASSERT_TRUE(left) << left.error().text();
        for (const Leftover& one : *left) EXPECT_THAT(one.actions, testing::IsEmpty()) << one.journal;
    }

    const fs::path directory_ = fs::temp_directory_path() / fmt::format("deadrank-unharmed-{}", getpid());
    std::map<std::string, std::string> before_;
};

TEST_F(DeviceUnharmed, AfterADamageAKillAndARestart) {
    const auto control = play({});
    ASSERT_TRUE(control) << control.error().text();
    EXPECT_TRUE(control->truth.completed());
    EXPECT_THAT(words(*control), Contains(HasSubstr("begins with step 2")));
    expect_unharmed();

    scenarios::FaultSpec dies{.kind = "kill_rank"};
    dies.parameters["rank"] = {.type = scenarios::ValueType::ranks, .list = {1}};
    dies.when.step = 5;
    const auto record = play({damage("", 4), dies});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_THAT(words(*record), Contains(HasSubstr("begins with step 2")));
    std::set<std::int32_t> happened;
    for (const results::Mark& mark : record->truth.marks) {
        EXPECT_EQ(mark.kind, results::MarkKind::applied) << mark.says;
        happened.insert(mark.fault);
    }
    EXPECT_EQ(happened, (std::set<std::int32_t>{0, 1}));
    EXPECT_EQ(record->truth.marks.front().blame.step, 4);
    EXPECT_FALSE(record->truth.completed());  // half a file cannot be read
    int unread = 0;
    for (const results::Event* event : record->evidence.each<results::CheckpointLoad>())
        unread += event->as<results::CheckpointLoad>()->result != results::Code::ok;
    EXPECT_GT(unread, 0);
    expect_unharmed();
}

TEST_F(DeviceUnharmed, ByADamageThatMeetsNoFileAndIsRefused) {
    const auto record = play({damage("another.pt", 4)});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_FALSE(record->truth.applied());
    EXPECT_TRUE(record->truth.completed());
    ASSERT_FALSE(record->truth.marks.empty());
    EXPECT_EQ(record->truth.marks.front().kind, results::MarkKind::refused);
    EXPECT_THAT(record->truth.marks.front().says,
                HasSubstr("the job wrote and read no file whose path has 'another.pt' in it"));
    expect_unharmed();
}

// What a killed run had not changed yet needs no undo before the next run.
TEST_F(DeviceUnharmed, NorHeldUpByAKilledRunThatChangedNothing) {
    const fs::path journals = journal_directory(), kept = journals / "1-1.kept";
    ASSERT_TRUE(begin_keeping(kept));
    std::ofstream(journals / "1-0.jsonl") << fmt::format(
        "{{\"owner\":\"1 1\"}}\n{{\"n\":1,\"undo\":\"restore_kept\",\"of\":\"{}\"}}\n", kept.string());
    EXPECT_TRUE(play({damage("another.pt", 4)}));
    std::ofstream(kept / "list") << "a line\n";
    const auto record = play({damage("another.pt", 4)});
    ASSERT_FALSE(record);
    EXPECT_THAT(record.error().text(), HasSubstr("could not give them back — run `deadrank undo` first"));
}

// A full disk is met by the program's own writers, wherever they write.
TEST_F(DeviceUnharmed, ByADiskThatIsFull) {
    scenarios::FaultSpec full{.kind = "fill_storage"};
    full.parameters["path"] = {.type = scenarios::ValueType::text, .text = ""};
    full.parameters["free"] = whole(4);
    full.when.step = 4;
    const auto record = play({full});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_TRUE(record->truth.applied());
    EXPECT_FALSE(record->truth.completed());
    expect_unharmed();
}

// Harness and all: killed while the job has its user's file under way.
TEST_F(DeviceUnharmed, AfterTheHarnessWasKilledAndUndone) {
    const std::string place = directory_.string(), last = place + "/theirs/ckpt/last.pt";
    const std::string deadrank =
        fmt::format("DEADRANK_STATE={0}/state TMPDIR={0} {1}/deadrank ", place, DEADRANK_BINARY_DIRECTORY);
    const std::string said =
        tests::shell(
            fmt::format(
                "cp {1} {0}/first.pt\n{2}run fault_tolerance/checkpoint_truncated_before_resume "
                "--no-control --no-heal --runner local -- sh -c '{3}' >{0}/run.txt 2>&1 & harness=$!\n"
                "for i in $(seq 1200); do cmp -s {1} {0}/first.pt || break; sleep 0.1; done\n"
                "kill -9 $harness; wait $harness 2>/dev/null\n"
                "cmp -s {1} {0}/first.pt || echo changed\n{2}undo; echo code=$?",
                place, last, deadrank, command(0.5)))
            .out;
    EXPECT_THAT(said, HasSubstr("changed")) << said;
    EXPECT_THAT(said, HasSubstr("code=0")) << said;
    EXPECT_EQ(tree_of(directory_ / "theirs"), before_) << said;
}

// An ssh session is lost, a scheduler asks, nobody reads the output any more: the run ends, and nothing of it
// stays.
TEST_F(DeviceUnharmed, BySignalsThatEndARun) {
    const std::string place = directory_.string(), last = place + "/theirs/ckpt/last.pt";
    fs::create_directories(directory_ / "tmp");
    using Ending = std::pair<std::string, int>;
    for (const auto& [signal, code] : {Ending{"HUP", 129}, Ending{"TERM", 143}, Ending{"PIPE", 130}}) {
        const std::string said =
            tests::shell(
                fmt::format("cp {1} {0}/first.pt\n"
                            "DEADRANK_STATE={0}/state TMPDIR={0}/tmp setsid {2}/deadrank run "
                            "fault_tolerance/checkpoint_truncated_before_resume --no-control --no-heal "
                            "--runner local -- sh -c '{3}' >{0}/run.txt 2>&1 & harness=$!\n"
                            "for i in $(seq 1200); do cmp -s {1} {0}/first.pt || break; sleep 0.1; done\n"
                            "cmp -s {1} {0}/first.pt || echo changed\n"
                            "kill -{4} $harness; wait $harness; echo code=$?\n"
                            "grep -ls 'DEADRANK_EVIDENCE={0}/' /proc/[0-9]*/environ | sed 's/^/left /'\n"
                            "ls {0}/tmp | sed 's/^/left /'",
                            place, last, DEADRANK_BINARY_DIRECTORY, command(0.5), signal))
                .out;
        EXPECT_THAT(said, HasSubstr("changed")) << signal;
        EXPECT_THAT(said, HasSubstr(fmt::format("code={}", code))) << signal << "\n" << said;
        EXPECT_THAT(said, testing::Not(HasSubstr("left "))) << signal << "\n" << said;
        SCOPED_TRACE(signal);
        expect_unharmed();
    }
}

}  // namespace
}  // namespace deadrank::runners
