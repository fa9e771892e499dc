// tests/sim/byte_collective_test.cpp — Collectives and messages on the memory of real programs.
#include <gmock/gmock.h>
#include <map>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using results::Op;
using testing::ElementsAre;

using Floats = std::vector<float>;

ByteCall call_on(Op op, Floats& in, Floats& out, std::size_t count, Rank root = -1) {
    ByteCall call;
    call.op = op;
    call.dtype = Dtype::f32;
    call.reduce = ReduceOp::sum;
    call.root = root;
    call.count = static_cast<std::int64_t>(count);
    call.in = std::as_bytes(std::span(in));
    call.out = std::as_writable_bytes(std::span(out));
    return call;
}

// What each of three ranks holds after one call.
std::map<Rank, Floats> held_after(const std::function<Floats(Rank me, Comm& comm)>& script) {
    std::map<Rank, Floats> held;
    const Trial trial = play(bare(1, 3), [&](World& world) {
        const auto comm = everybody(world);
        held[world.process()] = script(world.process(), *comm);
    });
    EXPECT_EQ(trial.result.ending, Ending::completed);
    return held;
}

TEST(ByteCollective, ReducesToAllOrToItsRoot) {
    const auto held = held_after([](Rank me, Comm& comm) {
        Floats all{static_cast<float>(me)}, one{1.5F};
        comm.collective(call_on(Op::all_reduce, all, all, 1))->wait();
        comm.collective(call_on(Op::reduce, one, one, 1, 2))->wait();
        return Floats{all[0], one[0]};
    });
    EXPECT_THAT(held.at(0), ElementsAre(3, 1.5));
    EXPECT_THAT(held.at(2), ElementsAre(3, 4.5));
}

TEST(ByteCollective, GathersAndScatters) {
    const auto held = held_after([](Rank me, Comm& comm) {
        Floats mine{static_cast<float>(me)}, all(3), of_root(me == 1 ? 3 : 0), part(1), none;
        comm.collective(call_on(Op::all_gather, mine, all, 1))->wait();
        comm.collective(call_on(Op::gather, mine, of_root, 1, 1))->wait();
        comm.collective(call_on(Op::scatter, of_root, part, 1, 1))->wait();
        Floats sums{1, 2, 3}, share(1);
        comm.collective(call_on(Op::reduce_scatter, sums, share, 1))->wait();
        return Floats{all[2], me == 1 ? of_root[0] : -1, part[0], share[0]};
    });
    EXPECT_THAT(held.at(0), ElementsAre(2, -1, 0, 3));
    EXPECT_THAT(held.at(1), ElementsAre(2, 0, 1, 6));
    EXPECT_THAT(held.at(2), ElementsAre(2, -1, 2, 9));
}

// Rank r sends r + 1 elements to each other rank.
TEST(ByteCollective, ExchangesUnequalParts) {
    const auto held = held_after([](Rank me, Comm& comm) {
        const auto own = static_cast<std::size_t>(me + 1);
        Floats in(3 * own, static_cast<float>(me)), out(1 + 2 + 3);
        ByteCall call = call_on(Op::all_to_all, in, out, own);
        for (Rank peer = 0; peer < 3; ++peer) {
            call.sent.push_back(static_cast<std::int64_t>(own) * 4);
            call.received.push_back((peer + 1) * 4);
        }
        comm.collective(call)->wait();
        return out;
    });
    for (Rank rank = 0; rank < 3; ++rank) EXPECT_THAT(held.at(rank), ElementsAre(0, 1, 1, 2, 2, 2));
}

TEST(ByteCollective, MovesMessagesAndMatchesTagsOverGloo) {
    ClusterSettings settings = bare(1, 2);
    settings.library = LibraryKind::gloo;
    std::map<Rank, Floats> held;
    play(settings, [&](World& world) {
        const auto comm = everybody(world);
        Floats first{1}, second{2};
        if (world.process() == 0) {
            auto one = comm->send_bytes(std::as_bytes(std::span(first)), 1, 7, Dtype::f32);
            auto two = comm->send_bytes(std::as_bytes(std::span(second)), 1, 8, Dtype::f32);
            one->wait();
            two->wait();
        } else {
            auto two = comm->recv_bytes(std::as_writable_bytes(std::span(second)), 0, 8, Dtype::f32);
            auto one = comm->recv_bytes(std::as_writable_bytes(std::span(first)), 0, 7, Dtype::f32);
            two->wait();
            one->wait();
            held[1] = {first[0], second[0]};
        }
    });
    EXPECT_THAT(held[1], ElementsAre(1, 2));
}

TEST(ByteCollective, HangsWhereSizesDiffer) {
    const Trial trial = play(bare(1, 2), [](World& world) {
        const auto comm = everybody(world);
        Floats data(world.process() == 0 ? 4 : 5);
        comm->collective(call_on(Op::all_reduce, data, data, data.size()))->wait();
    });
    EXPECT_EQ(trial.result.ending, Ending::deadlock);
}

// The sender's memory is gone when the others come: its data is not.
TEST(ByteCollective, GoesOnWithTheDataOfACallerThatLetGo) {
    std::map<Rank, Floats> held;
    play(bare(1, 2), [&](World& world) {
        const auto comm = everybody(world);
        Floats data{static_cast<float>(world.process() + 1)};
        if (world.process() == 1) world.timer().sleep(Time{1'000'000});
        auto work = comm->collective(call_on(Op::all_reduce, data, data, 1));
        if (world.process() == 1) return work->wait(), void(held[1] = data);
        work.reset();
        data.assign(1, 100);
        world.timer().sleep(Time{1'000'000'000});
    });
    EXPECT_THAT(held[1], ElementsAre(3));
}

TEST(ByteCollective, FlipsOneBitOfOneContribution) {
    AlterCall flip(CallKind::collective, [](Call& call) { call.flip_bit = 31; });  // the sign of element 0
    std::map<Rank, Floats> held;
    play(
        bare(1, 2),
        [&](World& world) {
            const auto comm = everybody(world);
            Floats data{2, 2};
            comm->collective(call_on(Op::all_reduce, data, data, 2))->wait();
            held[world.process()] = data;
        },
        altering(flip, 1));
    EXPECT_THAT(held[0], ElementsAre(0, 4));
}

}  // namespace
}  // namespace deadrank::sim
