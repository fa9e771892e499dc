// tests/sim/gloo_test.cpp — Goal: over gloo a lost peer is told at once to whoever waits for it or calls
// later, who gets too much aborts, and a network that goes silent is never given up; over NCCL all of it is
// silence.
#include <gmock/gmock.h>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using Numbers = std::vector<Number>;
using testing::HasSubstr;

ClusterSettings over_gloo(int nodes, int gpus) {
    ClusterSettings settings = bare(nodes, gpus);
    settings.library = LibraryKind::gloo;
    return settings;
}

void three_reductions(World& world, Rank leaves) {
    const auto comm = everybody(world);
    for (int call = 0; call < 3; ++call) {
        if (world.process() == leaves && call == 1) return;
        Numbers data{1};
        comm->all_reduce(data);
        world.timer().sleep(1s);
    }
}

TEST(Gloo, TellsWhoWaitsForARankThatIsGone) {
    for (const bool gloo : {true, false}) {
        const Trial trial =
            play(gloo ? over_gloo(1, 3) : bare(1, 3), [](World& world) { three_reductions(world, 2); });
        for (const Rank rank : {0, 1}) {
            EXPECT_EQ(trial.says(rank, "Connection closed by peer"), gloo);
            EXPECT_EQ(trial.result.ends.at(static_cast<std::size_t>(rank)),
                      gloo ? ProcessEnd::failed : ProcessEnd::stuck);
        }
        EXPECT_EQ(trial.evidence.each<results::CommError>().size(), gloo ? 2u : 0u);
    }
}

TEST(Gloo, TellsWhoWaitsForAMessageAndNobodyElse) {
    const Trial trial = play(over_gloo(1, 3), [](World& world) {
        const auto comm = everybody(world);
        Numbers data{1};
        if (world.process() == 0) comm->recv(data, 1);
        if (world.process() == 2) world.timer().sleep(5s);
    });
    EXPECT_TRUE(trial.says(0, "Connection closed by peer"));
    EXPECT_FALSE(trial.says(2, "Connection closed by peer"));
    EXPECT_EQ(trial.result.ends.at(2), ProcessEnd::finished);
}

TEST(Gloo, AbortsWhoGetsMoreThanThereIsRoomFor) {
    const Trial trial = play(over_gloo(1, 2), [](World& world) {
        Numbers data(world.process() == 0 ? 4 : 8, 1);
        everybody(world)->all_reduce(data);
    });
    EXPECT_TRUE(trial.says(0, "op.preamble.length <= op.nbytes. 32 vs 16"));
    EXPECT_TRUE(trial.says(1, "Connection closed by peer"));
    EXPECT_EQ(trial.of<results::RankExit>(0).at(0).signal, 6);
}

TEST(Gloo, PlaysAReduceScatterAsAnAllReduceOfTheWhole) {
    const Trial trial = play(over_gloo(1, 2), [](World& world) {
        const auto comm = everybody(world);
        Numbers one(1, 1), whole(8, 1), part(4, 0);
        if (world.process() == 0)
            comm->all_reduce(one);
        else
            comm->reduce_scatter(whole, part);
    });
    EXPECT_TRUE(trial.says(0, "op.preamble.length <= op.nbytes. 32 vs 4"));
    EXPECT_EQ(trial.of<results::RankExit>(0).at(0).signal, 6);
}

TEST(Gloo, LeavesAHealthyJobAlone) {
    const Trial trial = play(over_gloo(2, 2), [](World& world) { three_reductions(world, -1); });
    EXPECT_EQ(trial.result.ending, Ending::completed);
    EXPECT_TRUE(trial.evidence.each<results::CommError>().empty());
}

TEST(Gloo, NeverGivesUpANetworkThatIsSilent) {
    for (const bool gloo : {true, false}) {
        ClusterSettings settings = gloo ? over_gloo(2, 1) : bare(2, 1);
        settings.watchdog = true;
        LinkChange silent;
        silent.down = true;
        const Trial trial = play(
            settings, [](World& world) { three_reductions(world, -1); },
            [=](Cluster& cluster) {
                cluster.at(500ms, [&cluster, silent] { cluster.change_link(silent); });
            });
        const auto gives_up = [&](Rank rank) { return trial.says(rank, "IBV_WC_RETRY_EXC_ERR"); };
        EXPECT_EQ(gives_up(0) || gives_up(1), !gloo);
        EXPECT_FALSE(gloo && trial.says(0, "Watchdog caught")) << "torch watches NCCL's groups alone";
    }
}

}  // namespace
}  // namespace deadrank::sim
