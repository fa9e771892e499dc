// tests/runners/backends/mpi/levers_test.cpp — Goal: each rank does what is meant for it and leaves the rest
// to the others; what MPI has no lever for is refused with the reason; the ranks are not told what bug they
// play.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "runners/backends/mpi/mpi_runner.h"
#include "runners/backends/ranks/life.h"
#include "runners/backends/ranks/rank_levers.h"
#include "tests/runners/backends/ranks/rank_job.h"

namespace deadrank::runners {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(MpiLeversTest, AtTheStartEachRankTakesItsOwn) {
    RealLevers levers(mpi_reach(), 4, 2, 3);
    levers.starting(true);
    EXPECT_TRUE(levers.pull(inject::SetEnv{1, "WORLD_SIZE", "3"}));
    EXPECT_TRUE(levers.pull(inject::SetEnv{3, "WORLD_SIZE", "5"}));
    EXPECT_TRUE(levers.pull(inject::SwapRanks{3, 1}));
    ASSERT_EQ(levers.state().environment.size(), 1u);
    EXPECT_EQ(levers.state().environment.begin()->second, "5");
    EXPECT_EQ(levers.state().claims, 1);
}

TEST(MpiLeversTest, NoRankActsOnAnother) {
    RealLevers levers(mpi_reach(), 4, 2, 3);
    const auto killed = levers.pull(inject::Kill{1, 9});
    ASSERT_FALSE(killed);
    EXPECT_EQ(killed.error().code, scenarios::ErrorCode::unsupported);
    EXPECT_EQ(levers.state().end.how, RealEnd::How::none);
    EXPECT_TRUE(levers.pull(inject::Kill{3, 9}));
    EXPECT_EQ(levers.state().end.how, RealEnd::How::killed);
    EXPECT_FALSE(levers.pull(inject::Kill{4, 9})) << "there is no rank 4";
}

TEST(MpiLeversTest, OnPaperNothingMoves) {
    RealLevers levers(mpi_reach(), 4, 2, results::no_rank);
    EXPECT_TRUE(levers.pull(inject::Kill{1, 9}));
    EXPECT_EQ(levers.state().end.how, RealEnd::How::none);
}

TEST(MpiLeversTest, WhatIsMissingSaysWhy) {
    RealLevers levers(mpi_reach(), 4, 2, 0);
    const auto link = levers.pull(inject::ChangeLink{{.from = 0, .to = 1, .down = true}});
    ASSERT_FALSE(link);
    EXPECT_EQ(link.error().code, scenarios::ErrorCode::unsupported);
    EXPECT_THAT(link.error().text(), HasSubstr("shared memory"));
    EXPECT_FALSE(levers.pull(inject::SetVersion{0, "nccl", "2.19.3"}));
    EXPECT_FALSE(levers.pull(inject::SetEnv{0, "NCCL_ALGO", "Tree"})) << "a fault without effect is no fault";
    EXPECT_FALSE(levers.pull(inject::ChangeStorage{{.path = "x", .what = inject::StorageTrouble::stale}}));
}

TEST(MpiLeversTest, OnlyTheCallUnderWayIsAltered) {
    RealLevers levers(mpi_reach(), 4, 2, 0);
    EXPECT_FALSE(levers.pull(inject::AlterCall{0, {.skip = true}}));
    sim::Call call{.rank = 0, .count = 4};
    levers.under_way(&call);
    EXPECT_TRUE(levers.pull(inject::AlterCall{0, {.skip = true, .count_change = -9}}));
    EXPECT_TRUE(call.skip);
    EXPECT_EQ(call.count, 0);
}

TEST(HiddenPlan, TheRanksLearnWhatToRunAndNothingOfTheBug) {
    auto job = testing_ranks::small_job();
    job.faults.push_back(testing_ranks::fault("kill_rank", 1));
    const auto plan = testing_ranks::resolved(job, MpiRunner().capabilities());
    const std::string text = hidden_plan_text(plan);
    EXPECT_THAT(text, Not(HasSubstr("collective_deadlock_hang")));
    const auto file =
        std::filesystem::path(testing::TempDir()) / ("hidden_" + std::to_string(getpid()) + ".toml");
    std::ofstream(file) << text;
    const auto read = read_hidden_plan(file);
    std::filesystem::remove(file);
    ASSERT_TRUE(read) << read.error().text();
    EXPECT_EQ(read->cluster, plan.cluster);
    EXPECT_EQ(read->workload, plan.workload);
    EXPECT_EQ(read->faults, plan.faults);
}

}  // namespace
}  // namespace deadrank::runners
