// tests/sim/cluster_test.cpp — A job from launch to end: it finishes, dies, hangs or starts again, and one
// seed is one run.
#include "sim/cluster/cluster.h"

#include <gmock/gmock.h>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using testing::Each;
using testing::ElementsAre;

void three_steps(World& world) {
    const auto comm = everybody(world);
    for (int step = 0; step < 3; ++step) {
        world.step(step);
        world.device().compute(10ms);
        Number value[] = {world.process() + 1};
        comm->all_reduce(value);
        world.record(results::StepEnd{step, static_cast<double>(value[0]), 0});
    }
}

TEST(Cluster, FinishesAHealthyJobWithRightSums) {
    const Trial trial = play(bare(2, 4), three_steps);
    EXPECT_EQ(trial.result.ending, Ending::completed);
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::finished));
    for (Rank rank = 0; rank < 8; ++rank) {
        const auto steps = trial.of<results::StepEnd>(rank);
        ASSERT_EQ(steps.size(), 3u);
        for (const auto& step : steps) EXPECT_EQ(step.loss, 36);
        EXPECT_EQ(trial.of<results::RankExit>(rank).at(0).code, 0);
    }
    EXPECT_EQ(trial.of<results::JobStop>(results::no_rank).at(0).code, 0);
    EXPECT_EQ(trial.result.observed_until, trial.result.end);
}

TEST(Cluster, OneSeedIsOneRun) {
    const Trial one = play(bare(2, 4), three_steps), other = play(bare(2, 4), three_steps);
    EXPECT_EQ(one.result.hash, other.result.hash);
    EXPECT_EQ(one.result.rank_hashes, other.result.rank_hashes);
    EXPECT_GT(one.result.events, 200u);
}

TEST(Cluster, AKilledRankLeavesItsPeersWaitingAndIsNamed) {
    const Trial trial = play(bare(2, 2), three_steps,
                             [](Cluster& cluster) { cluster.at(45ms, [&] { cluster.kill(3, 9); }); });
    EXPECT_EQ(trial.result.ending, Ending::deadlock);
    EXPECT_THAT(trial.result.ends,
                ElementsAre(ProcessEnd::stuck, ProcessEnd::stuck, ProcessEnd::stuck, ProcessEnd::killed));
    EXPECT_EQ(trial.of<results::RankExit>(3).at(0).signal, 9);
    ASSERT_EQ(trial.result.waits_for.size(), 3u);
    EXPECT_EQ(trial.result.waits_for[0],
              "rank 0 waits in all_reduce #2 of world for rank 3, which exited (signal 9)");
    EXPECT_EQ(trial.result.observed_until, trial.result.end + 120s);
}

TEST(Cluster, AnInterceptorKillsARankOnItsWayIntoACall) {
    AlterCall alter(
        CallKind::collective, [](Call& call) { call.kill_signal = 11; }, 2);
    const Trial trial = play(bare(1, 4), three_steps, altering(alter, 1));
    EXPECT_EQ(trial.of<results::RankExit>(1).at(0).signal, 11);
    EXPECT_EQ(trial.of<results::CollectiveEnter>(1).size(), 1u);
    EXPECT_EQ(trial.of<results::CollectiveEnter>(0).size(), 2u);
}

TEST(Cluster, AStoppedRankGoesOnWhenResumed) {
    const Trial trial = play(bare(1, 4), three_steps, [](Cluster& cluster) {
        cluster.at(45ms, [&] { cluster.stop(2); });
        cluster.at(10s, [&] { cluster.resume(2); });
    });
    EXPECT_EQ(trial.result.ending, Ending::completed);
    EXPECT_GT(trial.result.end, 10s);
}

}  // namespace
}  // namespace deadrank::sim
