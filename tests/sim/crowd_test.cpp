// tests/sim/crowd_test.cpp — Goal: a crowd that one fiber plays for is the same job: same times, same sums,
// same events of whoever is played apart, as when each rank has a fiber.
#include <gmock/gmock.h>
#include <map>

#include "tests/sim/cluster_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using results::ReduceOp;
using testing::ElementsAre;
using testing::HasSubstr;

using Numbers = std::vector<Number>;
constexpr Rank odd_one = 7;

ClusterSettings twelve(Rank individuals) {
    ClusterSettings settings = bare(3, 4);
    settings.individuals = individuals;
    settings.apart = {odd_one};
    return settings;
}

// Two steps in which one rank is late; every rank brings the same numbers.
void two_steps(World& world, std::map<Rank, Numbers>& held) {
    const auto comm = everybody(world);
    Numbers data{1, 2, 3};
    for (int step = 0; step < 2; ++step) {
        world.step(step);
        world.device().compute(world.process() == odd_one ? 160ms : 100ms);
        const auto work = comm->all_reduce_async(data);
        work->wait();
        comm->barrier();
    }
    held[world.process()] = data;
}

// What one rank showed, and when.
std::vector<std::string> seen_of(const Trial& trial, Rank rank) {
    std::vector<std::string> lines;
    for (const results::Event& event : trial.evidence.events()) {
        if (event.rank == rank) lines.push_back(results::to_json_line(trial.evidence, event));
    }
    return lines;
}

TEST(Crowd, IsTheSameJobAsItsRanksOneByOne) {
    std::map<Rank, Numbers> whole, crowded;
    const Trial all = play(twelve(0), [&](World& world) { two_steps(world, whole); });
    const Trial few = play(twelve(3), [&](World& world) { two_steps(world, crowded); });
    ASSERT_EQ(few.result.ending, Ending::completed);
    EXPECT_EQ(few.result.end, all.result.end);
    EXPECT_EQ(crowded.size(), 5u) << "ranks 0, 4, 8 of the sample, the odd one, and who plays for the crowd";
    for (const auto& [rank, numbers] : crowded) {
        EXPECT_EQ(numbers, whole.at(rank)) << "rank " << rank;
        EXPECT_EQ(seen_of(few, rank), seen_of(all, rank)) << "rank " << rank;
    }
    EXPECT_EQ(few.result.ends.size(), 12u);
}

TEST(Crowd, BringsItsNumbersOnceForEachMember) {
    const std::map<ReduceOp, Number> expected = {{ReduceOp::sum, 11 * 2 + 5},
                                                 {ReduceOp::max, 5},
                                                 {ReduceOp::min, 2},
                                                 {ReduceOp::prod, 2048 * 5},
                                                 {ReduceOp::avg, (11 * 2 + 5) / 12}};
    for (const auto& [reduce, number] : expected) {
        Numbers held;
        play(twelve(1), [&, reduce = reduce](World& world) {
            const auto comm = everybody(world);
            Numbers data{world.process() == odd_one ? 5 : 2};
            comm->all_reduce(data, reduce);
            if (world.process() == 0) held = data;
        });
        EXPECT_THAT(held, ElementsAre(number)) << results::name_of(reduce);
    }
}

TEST(Crowd, HearsABroadcastAndMayGiveOne) {
    for (const Rank root : {0, 3, 11}) {
        std::map<Rank, Numbers> held;
        play(twelve(1), [&](World& world) {
            const auto comm = everybody(world);
            Numbers data{world.process() == 0 ? 10 : world.process() == odd_one ? 20 : 30};
            comm->broadcast(data, root);
            held[world.process()] = data;
        });
        for (const auto& [rank, numbers] : held) EXPECT_THAT(numbers, ElementsAre(root == 0 ? 10 : 30));
    }
}

TEST(Crowd, WaitsForWhoeverDoesNotCome) {
    const Trial trial = play(twelve(1), [](World& world) {
        const auto comm = everybody(world);
        Numbers data{1};
        if (world.process() == odd_one) world.device().compute(1s);
        if (world.process() != odd_one) comm->all_reduce(data);
    });
    EXPECT_EQ(trial.result.ending, Ending::deadlock);
    EXPECT_THAT(trial.result.waits_for.at(0), HasSubstr("for rank 7, which finished"));
    EXPECT_EQ(trial.result.ends.at(11), ProcessEnd::stuck);
    EXPECT_EQ(trial.result.ends.at(7), ProcessEnd::finished);
}

TEST(Crowd, OfAHundredThousandCostsLittleMoreThanItsNumber) {
    ClusterSettings settings = bare(12'500, 8);
    settings.individuals = 8;
    settings.apart = {77'777};
    std::map<Rank, Numbers> held;
    const Trial trial = play(settings, [&](World& world) { two_steps(world, held); });
    EXPECT_EQ(trial.result.ending, Ending::completed);
    EXPECT_EQ(held.size(), 10u);
    EXPECT_EQ(held.at(77'777).front(), 100'000LL * 100'000);
}

}  // namespace
}  // namespace deadrank::sim
