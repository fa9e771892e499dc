// tests/sim/detail_test.cpp — TORCH_DISTRIBUTED_DEBUG=DETAIL: calls are compared before they hang, and the
// missing rank is named.
#include <gmock/gmock.h>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using Numbers = std::vector<Number>;

TEST(Detail, ComparesCallsBeforeTheyHang) {
    ClusterSettings settings = bare(1, 2);
    settings.debug_detail = true;
    const Trial trial = play(settings, [](World& world) {
        Numbers data(world.process() == 0 ? 4 : 8, 1);
        everybody(world)->all_reduce(data);
    });
    for (Rank rank = 0; rank < 2; ++rank) {
        EXPECT_TRUE(
            trial.says(rank, "Detected mismatch between collectives on ranks. Rank " + std::to_string(rank)));
        EXPECT_TRUE(trial.says(rank, "Tensor Tensor shapes: "));
    }
    EXPECT_EQ(trial.result.ending, Ending::completed);
}

TEST(Detail, NamesTheRankThatDidNotCome) {
    ClusterSettings settings = bare(1, 3);
    settings.debug_detail = true;
    settings.collective_timeout = 10s;
    const Trial trial = play(settings, [](World& world) {
        Numbers data{1};
        const auto comm = everybody(world);
        if (world.process() == 2) world.timer().sleep(30s);
        comm->all_reduce(data);
    });
    EXPECT_TRUE(trial.says(0, "[Rank 0]: Ranks 2 failed to pass monitoredBarrier in 10000 ms"));
    EXPECT_TRUE(trial.says(1, "Please check rank 0 logs for faulty rank."));
}

TEST(Detail, OnSomeRanksOnlyWaitsForTheOthersInVain) {
    ClusterSettings settings = bare(1, 2);
    settings.store_timeout = 10s;
    const Trial trial = play(
        settings,
        [](World& world) {
            Numbers data{1};
            everybody(world)->all_reduce(data);
        },
        [](Cluster& cluster) { cluster.set_env(1, "TORCH_DISTRIBUTED_DEBUG", "DETAIL"); });
    EXPECT_TRUE(trial.says(1, "wait timeout after 10000ms, keys: /default_pg/0//cuda//pg_wrapper:0/0/0"));
    EXPECT_EQ(trial.result.ends.at(0), ProcessEnd::stuck);
}

}  // namespace
}  // namespace deadrank::sim
