// tests/sim/sharing_test.cpp — Transfers that use a port at the same time share it; alone each takes its
// usual time. What stands still with a stopped process goes on with it.
#include <gmock/gmock.h>

#include "sim/collectives/cost.h"
#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using testing::Each;

constexpr int shared_numbers = 1 << 20;  // 4 MiB of f32

std::unique_ptr<Comm> between(World& world, const std::string& name, Rank first) {
    CommRequest request{name, {first, first + 2}, world.process()};
    return world.communicator(request);
}

// Two nodes of two: ranks 0 and 2 reduce something, ranks 1 and 3 do `late` after they began.
Script two_rings(Time late) {
    return [late](World& world) {
        const auto all = everybody(world);
        const auto comm = between(world, world.process() % 2 == 0 ? "even" : "odd", world.process() % 2);
        all->barrier();
        if (world.process() % 2 == 1) world.timer().sleep(late);
        std::vector<Number> data(shared_numbers, 1);
        comm->all_reduce(data);
        if (data.front() != 2) throw RankFailure("wrong sum");
    };
}

Time last_took(const Trial& trial, Rank rank) {
    return trial.times<results::CollectiveLeave>(rank).back() -
           trial.times<results::CollectiveEnter>(rank).back();
}

TEST(Sharing, TwoRingsOverOnePortTakeTwiceAsLong) {
    const Trial apart = play(bare(2, 2), two_rings(1s));
    const Trial together = play(bare(2, 2), two_rings(0s));
    ASSERT_THAT(together.result.ends, Each(ProcessEnd::finished));
    RingCost ring{.size = 2, .latency_sum = 10us, .latency_max = 5us, .bandwidth = 100'000'000'000};
    const auto closed = [&] { return collective_time(results::Op::all_reduce, 4 * shared_numbers, ring); };
    for (const Rank rank : {0, 1}) EXPECT_EQ(last_took(apart, rank), closed()) << rank;
    ring.bandwidth /= 2;
    for (Rank rank = 0; rank < 4; ++rank) EXPECT_EQ(last_took(together, rank), closed()) << rank;
}

TEST(Sharing, OnlyWhileBothAreUnderWay) {
    const Trial alone = play(bare(2, 2), two_rings(1s));
    const Trial trial = play(bare(2, 2), two_rings(100us));
    const Time usual = last_took(alone, 0);
    // The first has 100 µs to itself, and the second as long at the end.
    const Time expected = 100us + 2 * (usual - 100us);
    for (Rank rank = 0; rank < 4; ++rank)
        EXPECT_NEAR(static_cast<double>(last_took(trial, rank).count()),
                    static_cast<double>(expected.count()), 20'000);
}

TEST(Sharing, OnRailsEachDeviceHasAPortOfItsOwn) {
    ClusterSettings settings = bare(2, 2);
    settings.topology = TopologyKind::rails;
    EXPECT_EQ(last_took(play(settings, two_rings(0s)), 0), last_took(play(settings, two_rings(1s)), 0));
}

TEST(Sharing, AMessageBesideAReductionSlowsIt) {
    const auto script = [](Time late) {
        return [late](World& world) {
            const auto all = everybody(world);
            const auto comm = between(world, world.process() % 2 == 0 ? "even" : "odd", world.process() % 2);
            all->barrier();
            std::vector<Number> data(shared_numbers, 1);
            if (world.process() % 2 == 0) return comm->all_reduce(data);
            world.timer().sleep(late);
            world.process() == 1 ? comm->send(data, 1) : comm->recv(data, 0);
        };
    };
    const Time usual = last_took(play(bare(2, 2), script(1s)), 0);
    const Time beside = last_took(play(bare(2, 2), script(0s)), 0);
    EXPECT_GT(beside, usual * 19 / 10);
    EXPECT_LT(beside, usual * 21 / 10);
}

TEST(Sharing, WhatAStoppedProcessSendsToOtherNodesStandsStillWithIt) {
    const Script sum = [](World& world) {
        const auto comm = everybody(world);
        std::vector<Number> data(shared_numbers, 1);
        comm->all_reduce(data);
        if (data.front() != comm->size()) throw RankFailure("wrong sum");
    };
    const Trial usual = play(bare(2, 1), sum);
    const Time middle =
        (usual.times<results::CollectiveEnter>(0).at(0) + usual.times<results::CollectiveLeave>(0).at(0)) / 2;
    const auto stopped = [&](const ClusterSettings& settings) {
        return play(settings, sum, [=](Cluster& cluster) {
            cluster.at(middle, [&cluster] { cluster.stop(1); });
            cluster.at(middle + 10s, [&cluster] { cluster.resume(1); });
        });
    };
    const Trial trial = stopped(bare(2, 1));
    EXPECT_THAT(trial.result.ends, Each(ProcessEnd::finished));
    // What is in flight arrives all the same.
    const Time held_up = last_took(trial, 0) - last_took(usual, 0);
    EXPECT_LE(held_up, 10s);
    EXPECT_GE(held_up, 10s - 5us);
    EXPECT_LT(last_took(stopped(bare(1, 2)), 0), 1s) << "kernels that need no network go on";
    const Trial for_good =
        play(bare(2, 1), sum, [=](Cluster& cluster) { cluster.at(middle, [&cluster] { cluster.stop(1); }); });
    EXPECT_EQ(for_good.result.ending, Ending::deadlock);
    EXPECT_EQ(for_good.result.waits_for.at(0),
              "rank 0 waits in all_reduce #1 of world for rank 1, which is stopped");
}

}  // namespace
}  // namespace deadrank::sim
