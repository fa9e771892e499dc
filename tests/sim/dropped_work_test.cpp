// tests/sim/dropped_work_test.cpp — What becomes of a collective whose caller throws its Work away.
#include <gmock/gmock.h>
#include <map>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

using Numbers = std::vector<Number>;

// What each of two ranks holds in the end.
std::map<Rank, Numbers> dropped_outcome(const std::function<Numbers(World&, Comm&)>& script) {
    std::map<Rank, Numbers> held;
    play(bare(1, 2), [&](World& world) {
        const auto comm = everybody(world);
        Numbers numbers = script(world, *comm);
        held[world.process()] = std::move(numbers);
    });
    return held;
}

TEST(DroppedWork, StillMovesAndWritesNowhere) {
    const auto held = dropped_outcome([](World&, Comm& comm) {
        {
            Numbers gone{5};
            (void)comm.all_reduce_async(gone);
        }
        Numbers data{1};
        comm.all_reduce(data);
        return data;
    });
    EXPECT_THAT(held.at(0), ElementsAre(2));
}

// Goal: a kernel goes on with the data of its call, though the caller's memory is another's long before its
// peers come.
TEST(DroppedWork, BringsTheDataOfItsCall) {
    const auto held = dropped_outcome([](World& world, Comm& comm) {
        Numbers data{world.process() == 0 ? 5 : 1};
        if (world.process() == 0) {
            auto work = comm.all_reduce_async(data);
            work.reset();
            data[0] = 1000;
            world.timer().sleep(2s);
        } else {
            world.timer().sleep(1s);
            comm.all_reduce(data);
        }
        return data;
    });
    EXPECT_THAT(held.at(1), ElementsAre(6));
    EXPECT_THAT(held.at(0), ElementsAre(1000));
}

}  // namespace
}  // namespace deadrank::sim
