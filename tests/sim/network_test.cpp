// tests/sim/network_test.cpp — What links do to time and to connections, and what the cost model promises.
#include "sim/machine/network.h"

#include <gmock/gmock.h>

#include "sim/collectives/cost.h"
#include "sim/collectives/offer.h"
#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using results::Op;
using testing::Each;
using testing::ElementsAre;

Time duration(const Trial& trial, Rank rank = 0) {
    return trial.times<results::CollectiveLeave>(rank).at(0) -
           trial.times<results::CollectiveEnter>(rank).at(0);
}

// A change at the start, when the communicator exists already and the collective is about to begin or under
// way.
Trial with_link(const LinkChange& change, const ClusterSettings& settings, Time when = Time{1}) {
    return play(settings, sum,
                [=](Cluster& cluster) { cluster.at(when, [=, &cluster] { cluster.change_link(change); }); });
}

LinkChange slow(std::int64_t permille) {
    LinkChange change;
    change.bandwidth_permille = permille;
    return change;
}

LinkChange cut(bool down, bool reset = false) {
    LinkChange change;
    change.down = down;
    change.reset = reset;
    return change;
}

TEST(Network, TimeFollowsBandwidthAndLatency) {
    const Time usual = duration(play(bare(2, 1), sum));
    // A ring of two moves the whole buffer once each way: 4 MiB at 100 Gbit/s is 336 microseconds.
    EXPECT_GT(usual, 336us);
    EXPECT_LT(usual, 360us);
    EXPECT_NEAR(static_cast<double>(duration(with_link(slow(500), bare(2, 1))).count()),
                2.0 * static_cast<double>(usual.count()), 2e4);
    LinkChange late;
    late.extra_latency = 10ms;
    EXPECT_GT(duration(with_link(late, bare(2, 1))), 20ms);
}

TEST(Network, ALinkThatSlowsDownUnderWaySlowsTheRest) {
    const Trial usual = play(bare(2, 1), sum);
    const Time middle =
        (usual.times<results::CollectiveEnter>(0).at(0) + usual.times<results::CollectiveLeave>(0).at(0)) / 2;
    const double slowed = static_cast<double>(duration(with_link(slow(100), bare(2, 1), middle)).count());
    EXPECT_NEAR(slowed / static_cast<double>(duration(usual).count()), 5.5, 0.2)
        << "half at full pace, half at a tenth";
}

TEST(Network, OtherLinksDoNotMatter) {
    LinkChange elsewhere = slow(10);
    elsewhere.from = elsewhere.to = 1;  // NVLink of a node with one device
    EXPECT_EQ(duration(with_link(elsewhere, bare(2, 1))), duration(play(bare(2, 1), sum)));
}

TEST(Network, LossCostsTimeAndCountsRetransmits) {
    LinkChange lossy;
    lossy.loss_ppb = 10'000'000;
    ClusterSettings settings = bare(2, 1);
    const Trial trial = play(
        settings,
        [](World& world) {
            const auto comm = everybody(world);
            std::vector<Number> data(summed_numbers, 1);
            comm->all_reduce(data);
            world.step(0);
        },
        [=](Cluster& cluster) { cluster.change_link(lossy); });
    EXPECT_GT(duration(trial), duration(play(settings, sum)));
    EXPECT_GT(trial.of<results::LinkSample>(results::no_rank).at(0).retransmits, 5);
    EXPECT_EQ(trial.of<results::LinkSample>(results::no_rank).at(0).sent, 4 << 20);
}

TEST(Network, AShortOutageIsRetriedAndForgotten) {
    const Trial trial = play(bare(2, 1), sum, [](Cluster& cluster) {
        cluster.at(30'400us, [&] { cluster.change_link(cut(true)); });
        cluster.at(20s, [&] { cluster.change_link(cut(false)); });
    });
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::finished));
    EXPECT_GT(trial.result.end, 20s);
}

TEST(Network, ALongOutageIsAnErrorOfTheSenderThatOnlyItsWatchdogSees) {
    ClusterSettings settings = bare(2, 1);
    settings.watchdog = true;
    LinkChange one_way = cut(true);
    one_way.from = 0;
    one_way.to = 1;
    one_way.one_way = true;
    const Trial trial = play(settings, sum, [=](Cluster& cluster) {
        cluster.at(30'500us, [=, &cluster] { cluster.change_link(one_way); });
    });
    EXPECT_TRUE(trial.says(0, "IBV_WC_RETRY_EXC_ERR(12)"));
    EXPECT_TRUE(trial.says(0, "ncclRemoteError"));
    EXPECT_EQ(trial.of<results::CommError>(0).at(0).code, Code::remote_error);
    EXPECT_GT(trial.times<results::RankExit>(0).at(0), 30s);
    EXPECT_LT(trial.times<results::RankExit>(0).at(0), 40s);
    EXPECT_TRUE(trial.says(1, "Watchdog caught collective operation timeout"));
}

TEST(Network, ATimeoutThatNobodyCanReadIsForEver) {
    ClusterSettings settings = bare(2, 1);
    settings.environment = {{"NCCL_IB_TIMEOUT", "twenty"}};
    const Trial trial = with_link(cut(true), settings, 30'500us);
    EXPECT_EQ(trial.result.ending, Ending::deadlock);
    EXPECT_LT(trial.result.end, 1s);
}

TEST(Network, AResetBreaksConnectionsAtOnce) {
    ClusterSettings settings = bare(2, 1);
    settings.watchdog = true;
    const Trial trial = with_link(cut(true, true), settings, 30'500us);
    for (Rank rank = 0; rank < 2; ++rank) {
        EXPECT_TRUE(trial.says(rank, "Connection closed by remote peer"));
        EXPECT_LT(trial.times<results::RankExit>(rank).at(0), 3s);
    }
}

TEST(Network, SocketsAreSlowerThanRdma) {
    ClusterSettings settings = bare(2, 1);
    settings.environment = {{"NCCL_IB_DISABLE", "1"}};
    EXPECT_GT(duration(play(settings, sum)), 2 * duration(play(bare(2, 1), sum)));
}

TEST(Topology, RailsAndLeavesAddLatency) {
    ClusterSettings settings = bare(8, 2);
    settings.topology = TopologyKind::rails;
    EXPECT_EQ(Topology(settings).hop({0, 0}, {1, 0}).latency, 5us);
    EXPECT_EQ(Topology(settings).hop({0, 0}, {1, 1}).latency, 7us);
    EXPECT_EQ(Topology(settings).hop({0, 0}, {0, 1}).latency, 2us);
    settings.topology = TopologyKind::leaf_spine;
    EXPECT_EQ(Topology(settings).hop({0, 0}, {3, 0}).latency, 5us);
    EXPECT_EQ(Topology(settings).hop({0, 0}, {4, 0}).latency, 15us);
}

TEST(Cost, RingsMoveTwiceTheBufferAndTreesWinWhenItIsSmall) {
    RingCost ring;
    ring.size = 64;
    for (int i = 0; i < 64; ++i) ring.add({i, (i + 1) % 64, 5us, 100'000'000'000});
    const auto time = [&](std::int64_t bytes, Algorithm algorithm) {
        return collective_time(Op::all_reduce, bytes, ring, algorithm);
    };
    EXPECT_LT(time(8, Algorithm::tree), time(8, Algorithm::ring));
    EXPECT_EQ(time(8, Algorithm::automatic), time(8, Algorithm::tree));
    constexpr std::int64_t large = std::int64_t{1} << 33;
    EXPECT_LT(time(large, Algorithm::ring), time(large, Algorithm::tree));
    EXPECT_NEAR(static_cast<double>(time(large, Algorithm::ring).count()),
                2.0 * 8 * 8.589934592e9 / 100 * 63 / 64, 1e7);
}

TEST(Cost, ADeadHopIsNever) {
    RingCost ring;
    ring.size = 2;
    ring.add({0, 1, 5us, 0});
    EXPECT_EQ(collective_time(Op::all_reduce, 8, ring), results::never);
}

TEST(Movement, KeepsWhatIsDoneWhenThePaceChanges) {
    Movement movement;
    EXPECT_EQ(movement.advance(Time{0}, 100us), 100us);
    EXPECT_EQ(movement.advance(50us, 1000us), 500us);
    EXPECT_EQ(movement.advance(50us, results::never), results::never);
    EXPECT_EQ(movement.advance(10s, 100us), 50us);
}

}  // namespace
}  // namespace deadrank::sim
