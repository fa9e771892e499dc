// tests/sim/collective_test.cpp — What collectives compute, and what becomes of calls that do not fit
// together.
#include <gmock/gmock.h>
#include <map>
#include <numeric>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using results::Dtype;
using results::ReduceOp;
using testing::ElementsAre;
using testing::HasSubstr;

using Numbers = std::vector<Number>;

// What each rank holds in the end.
std::map<Rank, Numbers> outcome(const ClusterSettings& settings,
                                const std::function<Numbers(World&, Comm&)>& script, const Setup& setup = {},
                                Trial* trial = nullptr) {
    std::map<Rank, Numbers> held;
    Trial played = play(
        settings,
        [&](World& world) {
            const auto comm = everybody(world);
            Numbers numbers = script(world, *comm);
            held[world.process()] = std::move(numbers);
        },
        setup);
    if (trial) *trial = std::move(played);
    return held;
}

TEST(Collective, ReducesByEachOperation) {
    const std::map<ReduceOp, Number> expected = {{ReduceOp::sum, 2 + 3 + 4},
                                                 {ReduceOp::max, 4},
                                                 {ReduceOp::min, 2},
                                                 {ReduceOp::prod, 24},
                                                 {ReduceOp::avg, 3}};
    for (const auto& [reduce, number] : expected) {
        const auto held = outcome(bare(1, 3), [&](World& world, Comm& comm) {
            Numbers data{world.process() + 2};
            comm.all_reduce(data, reduce);
            return data;
        });
        for (Rank rank = 0; rank < 3; ++rank) EXPECT_THAT(held.at(rank), ElementsAre(number));
    }
}

TEST(Collective, GathersScattersAndExchanges) {
    const auto held = outcome(bare(1, 2), [](World& world, Comm& comm) {
        const Rank me = world.process();
        Numbers all(8);
        comm.all_gather(Numbers{10 * me + 1, 10 * me + 2}, std::span(all).subspan(0, 4));
        comm.reduce_scatter(Numbers{me + 1, me + 2, me + 3, me + 4}, std::span(all).subspan(4, 2));
        comm.all_to_all(Numbers{100 * me, 100 * me + 1}, std::span(all).subspan(6, 2));
        return all;
    });
    EXPECT_THAT(held.at(0), ElementsAre(1, 2, 11, 12, 3, 5, 0, 100));
    EXPECT_THAT(held.at(1), ElementsAre(1, 2, 11, 12, 7, 9, 1, 101));
}

TEST(Collective, BroadcastsFromAndReducesToItsRoot) {
    const auto held = outcome(bare(1, 3), [](World& world, Comm& comm) {
        Numbers data{world.process(), world.process()};
        comm.broadcast(std::span(data).subspan(0, 1), 2);
        comm.reduce(std::span(data).subspan(1, 1), 1);
        return data;
    });
    EXPECT_THAT(held.at(0), ElementsAre(2, 0));
    EXPECT_THAT(held.at(1), ElementsAre(2, 3));
    EXPECT_THAT(held.at(2), ElementsAre(2, 2));
}

TEST(Collective, LeavesABufferAloneUntilItsDataHasMoved) {
    const auto held = outcome(bare(1, 2), [](World& world, Comm& comm) {
        Numbers data{1};
        const auto work = comm.all_reduce_async(data);
        const bool early = work->ready();
        const Number seen = data[0];
        work->wait();
        return Numbers{seen, early, data[0], world.process()};
    });
    EXPECT_THAT(held.at(0), ElementsAre(1, 0, 2, 0));
    EXPECT_THAT(held.at(1), ElementsAre(1, 0, 2, 1));
}

TEST(Collective, ASkippedCallPairsTheNextOneWithItsPeersCurrentOne) {
    AlterCall skip(CallKind::collective, [](Call& call) { call.skip = true; });
    Trial trial;
    const auto held = outcome(
        bare(1, 2),
        [](World& world, Comm& comm) {
            Numbers data{1, 100};
            comm.all_reduce(std::span(data).subspan(0, 1));
            if (world.process() == 0) comm.all_reduce(std::span(data).subspan(1, 1));
            return data;
        },
        altering(skip, 1), &trial);
    EXPECT_EQ(trial.result.ending, Ending::deadlock);
    EXPECT_EQ(trial.of<results::CollectiveEnter>(1).size(), 0u);
    EXPECT_THAT(trial.result.waits_for,
                ElementsAre("rank 0 waits in all_reduce #1 of world for rank 1, which finished"));
}

TEST(Collective, CallsHeldBackAreExchangedAndSilentlyMixUp) {
    AlterCall hold(CallKind::collective, [](Call& call) { call.hold = true; });
    Trial trial;
    const auto held = outcome(
        bare(1, 2),
        [](World&, Comm& comm) {
            Numbers first{1}, second{100};
            const auto a = comm.all_reduce_async(first);
            const auto b = comm.all_reduce_async(second);
            a->wait();
            b->wait();
            comm.barrier();
            return Numbers{first[0], second[0]};
        },
        altering(hold, 1), &trial);
    EXPECT_EQ(trial.result.ending, Ending::completed);
    EXPECT_THAT(held.at(0), ElementsAre(101, 101));
    EXPECT_EQ(held.at(1)[1], 101);
    EXPECT_EQ(held.at(1)[0], 1) << "the caller went on before its call was made";
    EXPECT_EQ(trial.of<results::CollectiveLeave>(1).size(), 3u);
}

TEST(Collective, CallsThatDoNotFitNeverEnd) {
    const std::map<std::string, std::function<void(Call&)>> misfits = {
        {"count", [](Call& call) { call.count = 2; }},
        {"op",
         [](Call& call) {
             call.op = results::Op::broadcast;
             call.root = 0;
         }},
        {"wider type", [](Call& call) { call.dtype = Dtype::f64; }}};
    for (const auto& [what, misfit] : misfits) {
        AlterCall alter(CallKind::collective, misfit);
        const Trial trial = play(
            bare(1, 2),
            [](World& world) {
                Numbers data{1, 2, 3, 4};
                everybody(world)->all_reduce(data);
            },
            altering(alter, 1));
        EXPECT_EQ(trial.result.ending, Ending::deadlock) << what;
        EXPECT_EQ(trial.of<results::CollectiveLeave>(0).size(), 0u) << what;
        EXPECT_THAT(trial.result.waits_for.at(0),
                    HasSubstr("rank 0 called all_reduce #1 of 4 f32, rank 1 called"))
            << what;
    }
}

TEST(Collective, ACountBeyondAllBuffersCostsTimeAndNoMemory) {
    class Both final : public Interceptor {
        void before(Call& call) override {
            if (call.kind == CallKind::collective) call.count = std::int64_t{1} << 40;
        }
    } both;
    Trial trial;
    const auto held = outcome(
        bare(1, 2),
        [](World& world, Comm& comm) {
            Numbers data{1, 2}, gathered(4), scattered(1);
            comm.all_reduce(data);
            comm.all_gather(data, gathered);
            comm.reduce_scatter(data, scattered);
            return Numbers{data[0], gathered[3], world.process()};
        },
        [&](Cluster& cluster) {
            cluster.intercept(&both);
            cluster.arm(0);
            cluster.arm(1);
        },
        &trial);
    EXPECT_EQ(trial.result.ending, Ending::completed);
    EXPECT_EQ(held.at(1)[0], 2);
    EXPECT_GT(trial.result.end, 10s);
}

TEST(Collective, ADifferentRootNeverEnds) {
    const Trial trial = play(bare(1, 2), [](World& world) {
        Numbers data{1};
        everybody(world)->broadcast(data, world.process());
    });
    EXPECT_EQ(trial.result.ending, Ending::deadlock);
}

TEST(Collective, ARootOutsideTheCommunicatorIsRefused) {
    const Trial trial = play(bare(1, 2), [](World& world) {
        Numbers data{1};
        everybody(world)->broadcast(data, 7);
    });
    EXPECT_TRUE(trial.says(0, "Broadcast : invalid root 7 (root should be in the 0..2 range)"));
    EXPECT_EQ(trial.of<results::CommError>(0).at(0).code, Code::invalid_argument);
}

TEST(Collective, TypesOfOneWidthAreReadAsBitsSilently) {
    AlterCall retype(CallKind::collective, [](Call& call) { call.dtype = Dtype::i32; });
    Trial trial;
    const auto held = outcome(
        bare(1, 2),
        [](World&, Comm& comm) {
            Numbers data{1, 1};
            comm.all_reduce(data);
            return data;
        },
        altering(retype, 1), &trial);
    // As measured with torch: the float side sees 1.0 for its own half; the integer side sees floats' bits.
    EXPECT_EQ(trial.result.ending, Ending::completed);
    EXPECT_THAT(held.at(0), ElementsAre(1, 1));
    EXPECT_THAT(held.at(1), ElementsAre(0x3f800000, 0x3f800001));
}

TEST(Collective, DifferentReductionsEachRuleTheirChunkSilently) {
    AlterCall reduce(CallKind::collective, [](Call& call) { call.reduce = ReduceOp::max; });
    const auto held = outcome(
        bare(1, 2),
        [](World& world, Comm& comm) {
            Numbers data(4, world.process() + 1);
            comm.all_reduce(data);
            return data;
        },
        altering(reduce, 1));
    EXPECT_THAT(held.at(0), ElementsAre(3, 3, 2, 2));
    EXPECT_THAT(held.at(1), ElementsAre(3, 3, 2, 2));
}

TEST(Collective, AFlippedBitReachesAllAndAFlippedReceptionOne) {
    for (const bool received : {false, true}) {
        AlterCall flip(CallKind::collective, [&](Call& call) {
            call.flip_bit = 64 + 4;
            call.flip_received = received;
        });
        const auto held = outcome(
            bare(1, 2),
            [](World&, Comm& comm) {
                Numbers data{1, 1};
                comm.all_reduce(data);
                return data;
            },
            altering(flip, 1));
        EXPECT_THAT(held.at(0), ElementsAre(2, received ? 2 : 18));
        EXPECT_THAT(held.at(1), ElementsAre(2, 18));
    }
}

TEST(Collective, AHungKernelHoldsUpAllAndAllThatFollows) {
    AlterCall hang(CallKind::collective, [](Call& call) { call.never_completes = true; });
    const Trial trial = play(
        bare(1, 2),
        [](World& world) {
            Numbers one{1}, two{1};
            const auto comm = everybody(world);
            const auto first = comm->all_reduce_async(one);
            const auto second = comm->all_reduce_async(two);
            second->wait();
        },
        altering(hang, 1));
    EXPECT_EQ(trial.result.ending, Ending::deadlock);
    EXPECT_EQ(trial.result.waits_for.at(0),
              "rank 0 waits in all_reduce #2 of world for rank 1, whose kernel never ended");
}

}  // namespace
}  // namespace deadrank::sim
