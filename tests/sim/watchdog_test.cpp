// tests/sim/watchdog_test.cpp — Old work and asynchronous errors end a process within its watchdog's next
// second.
#include <gmock/gmock.h>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using testing::Each;

ClusterSettings watched() {
    ClusterSettings settings = bare(2, 2);
    settings.watchdog = true;
    return settings;
}

void two_sums(World& world) {
    const auto comm = everybody(world);
    std::vector<Number> data(1024, 1);
    comm->all_reduce(data);
    if (world.process() == 1) world.timer().sleep(1h);
    comm->all_reduce(data);
}

TEST(Watchdog, EndsAProcessWhoseCollectiveIsTooOld) {
    const Trial trial = play(watched(), two_sums);
    EXPECT_TRUE(trial.says(
        0,
        "[Rank 0] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=2, OpType=ALLREDUCE, "
        "NumelIn=1024, NumelOut=1024, Timeout(ms)=600000) ran for 600"));
    EXPECT_TRUE(trial.says(0, "last enqueued work: 2, last completed work: 1"));
    EXPECT_TRUE(trial.says(0, "To avoid data inconsistency, we are taking the entire process down."));
    EXPECT_EQ(trial.of<results::RankExit>(0).at(0).signal, 6);
    EXPECT_EQ(trial.times<results::RankExit>(0).at(0), 601s);
    EXPECT_EQ(trial.of<results::CommAbort>(0).size(), 1u);
}

TEST(Watchdog, LeavesSlowButMovingWorkAlone) {
    ClusterSettings settings = watched();
    settings.collective_timeout = 10s;
    const Trial trial = play(settings, [](World& world) {
        const auto comm = everybody(world);
        Number data[] = {1};
        for (int i = 0; i < 5; ++i) {
            if (world.process() == 1) world.timer().sleep(9s);
            comm->all_reduce(data);
        }
    });
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::finished));
}

TEST(Watchdog, IsFrozenWithItsProcessAndCatchesUp) {
    ClusterSettings settings = watched();
    settings.collective_timeout = 10s;
    const Trial trial = play(settings, two_sums, [](Cluster& cluster) {
        cluster.at(5s, [&] { cluster.stop(0); });
        cluster.at(60s, [&] { cluster.resume(0); });
    });
    EXPECT_EQ(trial.times<results::RankExit>(0).at(0), 60s);
    EXPECT_EQ(trial.times<results::RankExit>(2).at(0), 11s);
}

TEST(Watchdog, WithoutOneAHangIsForEver) {
    ClusterSettings settings = watched();
    settings.watchdog = false;
    const Trial trial = play(settings, [](World& world) {
        if (world.process() != 1) everybody(world)->barrier();
    });
    EXPECT_EQ(trial.result.ending, Ending::deadlock);
    EXPECT_LT(trial.result.end, 1s);
}

TEST(Watchdog, DoesNotWatchTheCreationOfACommunicator) {
    const Trial trial = play(watched(), [](World& world) {
        if (world.process() != 1) everybody(world);
    });
    EXPECT_EQ(trial.result.ending, Ending::deadlock);
}

}  // namespace
}  // namespace deadrank::sim
