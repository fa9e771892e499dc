// tests/runners/explore/shrink_test.cpp — Faults of a user's program become fewer, and their numbers smaller.
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <gmock/gmock.h>

#include "runners/backends/process/mpirun.h"
#include "runners/commands/find/shrink_program.h"
#include "runners/explore/program_shrink.h"
#include "tests/support/shell.h"

namespace deadrank::runners::explore {
namespace {

using testing::ElementsAre;

ShrunkProgram shrink(const ProgramCase& from, const std::function<bool(const ProgramCase&)>& alike,
                     std::size_t tries = 1000) {
    return shrink_program(from, alike, tries, [] { return false; });
}

bool has_line(const ProgramCase& one, const std::string& part) {
    return std::any_of(one.faults.begin(), one.faults.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

TEST(ShrinkProgram, LeavesOutWhatTheEndDoesNotNeed) {
    const auto shrunk = shrink({{"kill rank 5 before all_reduce 7", "delay all_gather 3 30s rank 1"}, 8},
                               [](const ProgramCase& one) { return has_line(one, "kill rank "); });
    EXPECT_THAT(shrunk.least.faults, ElementsAre("kill rank 0"));
    EXPECT_EQ(shrunk.least.ranks, 1);
    EXPECT_TRUE(shrunk.finished);
}

TEST(ShrinkProgram, KeepsTheSmallestNumberThatEndsAlike) {
    const auto needs_third_call = [](const ProgramCase& one) {
        return one.ranks >= 2 && (has_line(one, "all_reduce 3") || has_line(one, "all_reduce 7"));
    };
    const auto shrunk = shrink({{"skip all_reduce 7 rank 1"}, 8}, needs_third_call);
    EXPECT_EQ(shrunk.least.ranks, 2);
    EXPECT_TRUE(has_line(shrunk.least, "all_reduce 3")) << shrunk.least.faults.front();
}

TEST(ShrinkProgram, TakesFewerNodes) {
    const auto alone = shrink({{"kill rank 5"}, 8, 4}, [](const ProgramCase&) { return true; });
    EXPECT_EQ(alone.least.ranks, 1);
    EXPECT_EQ(alone.least.nodes, 1);
    const auto spread = shrink({{"partition node 1 at step 2"}, 8, 4}, [](const ProgramCase& one) {
        return one.nodes >= 2 && one.ranks % one.nodes == 0;
    });
    EXPECT_EQ(spread.least.ranks, 2);
    EXPECT_EQ(spread.least.nodes, 2);
    const auto all = shrink({{"kill rank 5"}, 8, 4}, [](const ProgramCase& one) { return one.ranks == 8; });
    EXPECT_EQ(all.least.nodes, 1);
}

TEST(ShrinkProgram, StopsAfterSoManyTries) {
    const auto shrunk = shrink({{"kill rank 5 before all_reduce 7"}, 8}, [](const ProgramCase&) { return false; }, 3);
    EXPECT_EQ(shrunk.tries, 3U);
    EXPECT_FALSE(shrunk.finished);
    EXPECT_THAT(shrunk.least.faults, ElementsAre("kill rank 5 before all_reduce 7"));
}

// The test of a bug report plays what the command played.
TEST(ShrinkProgram, PrintsATestWithEachOption) {
    commands::ProgramOptions options;
    options.command = {"torchrun", "train.py"};
    EXPECT_EQ(commands::test_text(options, {"kill rank 1"}, Outcome::watchdog),
              "import deadrank\n\ndef test_no_watchdog():\n"
              "    ended = deadrank.run([\"torchrun\", \"train.py\"], faults=[\"kill rank 1\"])\n"
              "    assert ended.outcome != \"watchdog\", ended.story()\n");
    options.ranks = 4;
    options.nodes = 2;
    options.seed = 7;
    options.gpus = {.count = 2, .model = "a100"};
    options.compute = 20'000'000;
    options.real_limit = 60;
    EXPECT_THAT(
        commands::test_text(options, {"kill rank 1"}, Outcome::watchdog),
        testing::HasSubstr("faults=[\"kill rank 1\"], ranks=4, nodes=2, seed=7, gpus=2, gpu=\"a100\", "
                           "compute=\"20ms\", real_limit=60)"));
}

constexpr const char* shrunk_trainer = R"(
import torch, torch.distributed as dist
dist.init_process_group("gloo")
torch.manual_seed(1)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 4))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(3):
    optimizer.zero_grad()
    model(torch.full((4, 8), dist.get_rank() + 1.0)).square().mean().backward()
    optimizer.step()
)";

class DeviceShrinkCommand : public testing::Test {
protected:
    void SetUp() override {
        if (const auto python = runners::best_python(); !python) GTEST_SKIP() << python.error().text();
        std::filesystem::remove_all(directory_);
        std::filesystem::create_directories(directory_);
    }
    void TearDown() override { std::filesystem::remove_all(directory_); }

    tests::Answer shell(const std::string& command) const {
        return tests::shell(fmt::format("cd '{}' && PYTHONPATH={}/sim/managed/python PATH={}:$PATH {} 2>&1",
                                        directory_.string(), DEADRANK_SOURCE_DIRECTORY,
                                        DEADRANK_BINARY_DIRECTORY, command));
    }

    const std::filesystem::path directory_ =
        std::filesystem::path(testing::TempDir()) / "deadrank_shrink_command";
};

// Four ranks on four nodes, where the ends of one link are enough; the test that is printed fails as the
// command did.
TEST_F(DeviceShrinkCommand, WhatItPrintsPlaysTheSame) {
    std::ofstream(directory_ / "train.py") << shrunk_trainer;
    const auto shrunk = shell(
        "deadrank inject 'cut link node0-node1 how=reset at step 1' --shrink --nodes 4 --compute 20ms "
        "-- torchrun --nproc-per-node 4 train.py");
    EXPECT_EQ(shrunk.code, 0) << shrunk.out;
    EXPECT_THAT(shrunk.out, testing::HasSubstr("least     2 ranks on 2 nodes, cut "));
    EXPECT_THAT(shrunk.out, testing::HasSubstr("deadrank inject --ranks 2 --nodes 2 --compute 20ms 'cut "));
    EXPECT_THAT(shrunk.out, testing::HasSubstr("ranks=2, nodes=2, compute=\"20ms\")"));
    const std::size_t begin = shrunk.out.find("import deadrank");
    ASSERT_NE(begin, std::string::npos) << shrunk.out;
    std::ofstream(directory_ / "bug.py") << shrunk.out.substr(begin) << "\ntest_no_clear_error()\n";
    const auto failed = shell("/usr/bin/python3 bug.py");
    EXPECT_EQ(failed.code, 1);
    EXPECT_THAT(failed.out, testing::HasSubstr("AssertionError: clear_error: "));
}

constexpr const char* unsteady = R"(
import torch, torch.distributed as dist
dist.init_process_group("gloo")
drawn = torch.tensor([int.from_bytes(open("/dev/urandom", "rb").read(4), "little") % 1_000_000])
dist.broadcast(drawn, 0)
for step in range(3):
    dist.all_reduce(torch.zeros(1 + int(drawn)))
)";

// A difference from the healthy run is no effect of the fault if two healthy runs differ as well.
TEST_F(DeviceShrinkCommand, AProgramThatDoesNotRepeatIsToldSo) {
    std::ofstream(directory_ / "train.py") << unsteady;
    for (const char* arguments :
         {"'kill rank 1 before barrier 9'", "'kill rank 1 before all_reduce 2' --shrink"}) {
        const auto told =
            shell(fmt::format("deadrank inject {} -- torchrun --nproc-per-node 2 train.py", arguments));
        EXPECT_EQ(told.code, 2) << told.out;
        EXPECT_THAT(told.out,
                    testing::HasSubstr("the program does not repeat, so chance decides how it ends: rank "));
        EXPECT_THAT(told.out,
                    testing::HasSubstr("at train.py:7 dist.all_reduce(torch.zeros(1 + int(drawn)))"));
    }
}

// The caret stands below the rank or the node that the cluster does not have.
TEST_F(DeviceShrinkCommand, APlaceOutsideTheClusterIsPointedAt) {
    std::ofstream(directory_ / "train.py") << shrunk_trainer;
    const auto rank = shell(
        "deadrank inject 'kill rank 1 at step 1' 'stop rank 9 at step 1' -- torchrun --nproc-per-node 2 "
        "train.py");
    EXPECT_EQ(rank.code, 64);
    EXPECT_THAT(rank.out, testing::HasSubstr("rank 9 is outside the cluster — it has ranks 0 to 1\n"
                                             "  stop rank 9 at step 1\n"
                                             "            ^\n"));
    const auto node =
        shell("deadrank inject 'partition node 1 at step 1' -- torchrun --nproc-per-node 2 train.py");
    EXPECT_EQ(node.code, 64);
    EXPECT_THAT(node.out, testing::HasSubstr("  partition node 1 at step 1\n"
                                             "                 ^\n"));
}

}  // namespace
}  // namespace deadrank::runners::explore
