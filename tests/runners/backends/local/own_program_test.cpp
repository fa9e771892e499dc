// tests/runners/backends/local/own_program_test.cpp — Goal: somebody's own script of ten lines is a subject,
// as it is started by hand or with a manifest and nothing else: its steps are seen, and a fault finds its
// moment.
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runners/backends/local/local_runner.h"
#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"

namespace deadrank::runners {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;

constexpr const char* ten_lines = R"(import torch, torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(torch.nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(8):
    loss = model(torch.randn(16, 4)).pow(2).mean()
    loss.backward(), optimizer.step(), optimizer.zero_grad()
    print(f"step {step} loss {float(loss):.6f}", flush=True)
)";

constexpr const char* manifest = R"(format = 1
framework = "ten lines"
[start]
command = ["train.py"]
[read]
step = '^step (\d+) loss (\S+)'
)";

// Rank 1 is killed before the first all-reduce of its step 3.
scenarios::Plan killed_in_step_3() {
    scenarios::Plan plan;
    plan.scenario = "test";
    plan.workload_kind = "data_parallel";
    plan.cluster["nodes"] = {.type = scenarios::ValueType::integer, .number = 1};
    for (const char* name : {"ranks", "gpus_per_node"})
        plan.cluster[name] = {.type = scenarios::ValueType::integer, .number = 2};
    scenarios::FaultSpec kill{.kind = "kill_rank"};
    kill.parameters["rank"] = {.type = scenarios::ValueType::ranks, .list = {1}};
    kill.when.step = 3;
    kill.when.before = "all_reduce";
    plan.faults = {kill};
    return plan;
}

// Rank 1 begins with another value.
scenarios::Plan bent_at_the_start(const std::string& seam, std::int64_t value) {
    scenarios::Plan plan = killed_in_step_3();
    scenarios::FaultSpec bend{.kind = "bend_value"};
    bend.parameters["rank"] = {.type = scenarios::ValueType::ranks, .list = {1}};
    bend.parameters["seam"] = {.type = scenarios::ValueType::text, .text = seam};
    bend.parameters["set"] = {.type = scenarios::ValueType::integer, .number = value};
    bend.when.at_start = true;
    plan.faults = {bend};
    return plan;
}

class DeviceOwnProgram : public testing::Test {
protected:
    DeviceOwnProgram() {
        fs::create_directories(directory_);
        std::ofstream(directory_ / "train.py") << ten_lines;
        std::ofstream(directory_ / "mine.toml") << manifest;
    }
    ~DeviceOwnProgram() override { fs::remove_all(directory_); }
    void SetUp() override {
        if (const auto python = best_python(); !python) GTEST_SKIP() << python.error().text();
        if (files_shim().empty()) GTEST_SKIP() << "libdeadrank-files.so was not built (sanitizers)";
    }

    void play(const Manifest& subject) {
        const auto record = LocalRunner(subject).run(killed_in_step_3(), {});
        ASSERT_TRUE(record) << record.error().text();
        ASSERT_TRUE(record->truth.applied());
        EXPECT_EQ(record->truth.marks.front().blame.step, 3);
        EXPECT_FALSE(record->truth.completed());
        int killed = 0, steps = 0;
        for (const results::Event* event : record->evidence.each<results::RankExit>())
            killed += event->rank == 1 && event->as<results::RankExit>()->signal == 9;
        for (const results::Event* event : record->evidence.each<results::StepEnd>())
            steps += event->rank == 1;
        EXPECT_EQ(killed, 1);
        EXPECT_EQ(steps, 3);
    }

    fs::path directory_ = fs::temp_directory_path() / fmt::format("deadrank-own-program-{}", getpid());
};

TEST_F(DeviceOwnProgram, IsASubjectWithNothingButAManifest) {
    const auto mine = load_manifest(directory_ / "mine.toml");
    ASSERT_TRUE(mine) << mine.error().text();
    play(*mine);
}

// Two ranks that learn their numbers from an argument, once Python runs: nothing of a launcher's stands in
// their environment.
TEST_F(DeviceOwnProgram, MayStartItsRanksItself) {
    std::ofstream(directory_ / "spawns.py") << R"(import sys, torch, torch.distributed as dist
from torch import multiprocessing, nn

def train(rank, path):
    dist.init_process_group("gloo", init_method="file://" + path, rank=rank, world_size=2)
    model = nn.parallel.DistributedDataParallel(nn.Linear(4, 1))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    with open(path + str(rank), "wb") as file:  # larger than what subjects of ours may write
        file.truncate(3 << 30)
    for step in range(8):
        model(torch.randn(16, 4)).pow(2).mean().backward()
        optimizer.step(), optimizer.zero_grad()

if __name__ == "__main__":
    multiprocessing.spawn(train, args=(sys.argv[1],), nprocs=2)
)";
    const std::string script = (directory_ / "spawns.py").string();
    const auto record =
        LocalRunner(typed_subject({best_python()->program.string(), script, script + ".store"}))
            .run(killed_in_step_3(), {});
    ASSERT_TRUE(record) << record.error().text();
    ASSERT_TRUE(record->truth.applied());
    EXPECT_EQ(record->truth.marks.front().blame.step, 3);
    EXPECT_EQ(record->truth.marks.front().blame.ranks, std::vector<int>{1});
    int steps = 0;
    for (const results::Event* event : record->evidence.each<results::StepEnd>()) steps += event->rank == 1;
    EXPECT_EQ(steps, 3);
}

// The torchrun that is found is the one of the Python that has torch, wherever our own PATH leads.
TEST_F(DeviceOwnProgram, IsASubjectAsItsCommandWasTyped) {
    if (best_python()->major() < 2) GTEST_SKIP() << "torch 1.13 spells the option --nproc_per_node";
    play(typed_subject({"torchrun", "--nproc-per-node", "2", (directory_ / "train.py").string()}));
}

// What a typed command does wrong is told in one sentence, with Python's own words where there are any.
TEST_F(DeviceOwnProgram, ThatWasStartedWronglyIsRefusedWithTheReason) {
    if (best_python()->major() < 2) GTEST_SKIP() << "torch 1.13 spells the option --nproc_per_node";
    const auto refusal = [](const std::vector<std::string>& command) {
        const auto record = LocalRunner(typed_subject(command)).run(killed_in_step_3(), {});
        return record ? "it was played" : record.error().text();
    };
    const std::string script = (directory_ / "train.py").string();
    EXPECT_THAT(refusal({"torchrun", "--nproc-per-node", "1", script}),
                AllOf(HasSubstr("the command started 1 rank, and the scenario is played on 2"),
                      HasSubstr("--ranks 1")));
    EXPECT_THAT(refusal({"torchrun", "--nproc-per-node", "2", script + ".py"}),
                AllOf(HasSubstr("train.py.py"), HasSubstr("No such file or directory")));
    EXPECT_THAT(refusal({"python3", "-c", "print(1)"}), HasSubstr("no Python process with a RANK"));
}

// Nothing in it deals out samples, so that no share of them is bent: no verdict may come of that.
TEST_F(DeviceOwnProgram, HasNotHadAFaultWhoseValueItNeverUses) {
    const auto mine = load_manifest(directory_ / "mine.toml");
    ASSERT_TRUE(mine) << mine.error().text();
    scenarios::Plan plan = bent_at_the_start("sampler.shard", 0);
    const auto record = LocalRunner(*mine).run(plan, {});
    ASSERT_TRUE(record) << record.error().text();
    EXPECT_FALSE(record->truth.applied());
    ASSERT_FALSE(record->truth.marks.empty());
    EXPECT_NE(record->truth.marks.front().says.find("did not use its sampler.shard"), std::string::npos)
        << record->truth.marks.front().says;

    // A fix may go another way that never uses the value: the healed run is judged by what came of it.
    plan.variant = scenarios::Variant::healed;
    const auto healed = LocalRunner(*mine).run(plan, {});
    ASSERT_TRUE(healed) << healed.error().text();
    EXPECT_EQ(healed->truth.refusal(), nullptr);
    ASSERT_FALSE(healed->truth.marks.empty());
    EXPECT_EQ(healed->truth.marks.front().kind, results::MarkKind::unread);
}

// A sampler that does not shuffle has a seed and draws nothing with it.
TEST_F(DeviceOwnProgram, UsesTheSeedOfASamplerOnlyWhereItShuffles) {
    const auto mine = load_manifest(directory_ / "mine.toml");
    ASSERT_TRUE(mine) << mine.error().text();
    for (const bool shuffles : {true, false}) {
        std::ofstream(directory_ / "train.py")
            << "from torch.utils.data import DataLoader, DistributedSampler\n"
            << ten_lines
            << fmt::format(
                   "sampler = DistributedSampler(range(8), shuffle={})\n"
                   "list(DataLoader(range(8), sampler=sampler))\n",
                   shuffles ? "True" : "False");
        const auto record = LocalRunner(*mine).run(bent_at_the_start("sampler.seed", 5), {});
        ASSERT_TRUE(record) << record.error().text();
        EXPECT_EQ(record->truth.applied(), shuffles);
    }
}

}  // namespace
}  // namespace deadrank::runners
