// tests/sim/rng_test.cpp — Goal: chance is a pure function, without bias, and one draw never moves another.
#include "sim/engine/rng.h"

#include <array>
#include <gtest/gtest.h>
#include <vector>

namespace deadrank::sim {
namespace {

TEST(Chance, IsAFunctionOfItsFourArguments) {
    const Chance chance(Seed{7}, Entity{3}, "loss");
    EXPECT_EQ(chance.at(5), Chance(Seed{7}, Entity{3}, "loss").at(5));
    EXPECT_NE(chance.at(5), chance.at(6));
    EXPECT_NE(chance.at(5), Chance(Seed{8}, Entity{3}, "loss").at(5));
    EXPECT_NE(chance.at(5), Chance(Seed{7}, Entity{4}, "loss").at(5));
    EXPECT_NE(chance.at(5), Chance(Seed{7}, Entity{3}, "latency").at(5));
    EXPECT_NE(chance.at(5), Chance(Seed{7}, Entity{3, 1}, "loss").at(5)) << "a restarted rank saw old luck";
}

// The values themselves are part of every replay token: a compiler or an edit that changes them breaks
// replays.
TEST(Chance, KeepsItsValuesFromBuildToBuild) {
    static_assert(draw(42, 0, 0) == mix(mix(42)));
    EXPECT_EQ(mix(1), 0x5692161d100b05e5u);
    EXPECT_EQ(Purpose("").value, 0xcbf29ce484222325u);
    EXPECT_EQ(Purpose("a").value, 0xaf63dc4c8601ec8cu);
}

TEST(Chance, DrawsBelowABoundWithoutBias) {
    const Chance chance(Seed{1}, Entity{}, "die");
    std::array<int, 6> faces{};
    for (std::uint64_t n = 0; n < 60'000; ++n) ++faces.at(chance.below(n, 6));
    for (int count : faces) EXPECT_NEAR(count, 10'000, 500);
}

// Three quarters of 2^64: a plain remainder would hit the lower third twice as often.
TEST(Chance, IsNotBiasedByHugeBounds) {
    const Chance chance(Seed{1}, Entity{}, "huge");
    const std::uint64_t bound = std::uint64_t{3} << 62;
    int lower_third = 0;
    for (std::uint64_t n = 0; n < 30'000; ++n) {
        const std::uint64_t value = chance.below(n, bound);
        ASSERT_LT(value, bound);
        if (value < bound / 3) ++lower_third;
    }
    EXPECT_NEAR(lower_third, 10'000, 500);
}

TEST(Chance, ReachesBothEndsOfARange) {
    const Chance chance(Seed{1}, Entity{}, "range");
    bool low = false;
    bool high = false;
    for (std::uint64_t n = 0; n < 200; ++n) {
        const std::int64_t value = chance.between(n, -2, 2);
        ASSERT_GE(value, -2);
        ASSERT_LE(value, 2);
        low |= value == -2;
        high |= value == 2;
    }
    EXPECT_TRUE(low && high);
    EXPECT_EQ(chance.between(0, 9, 9), 9);
    EXPECT_NE(chance.between(0, INT64_MIN, INT64_MAX), chance.between(1, INT64_MIN, INT64_MAX));
}

TEST(Chance, KeepsItsRatio) {
    const Chance chance(Seed{5}, Entity{}, "buggify");
    int hits = 0;
    for (std::uint64_t n = 0; n < 40'000; ++n) hits += chance.ratio(n, 1, 4);
    EXPECT_NEAR(hits, 10'000, 500);
    EXPECT_FALSE(chance.ratio(0, 0, 4));
    EXPECT_TRUE(chance.ratio(0, 4, 4));
}

TEST(Chance, PicksOneOfTheChoices) {
    const Chance chance(Seed{5}, Entity{}, "rank");
    std::vector<int> choices{10, 20, 30};
    std::array<int, 31> seen{};
    for (std::uint64_t n = 0; n < 100; ++n)
        ++seen.at(static_cast<std::size_t>(chance.pick(n, std::span(choices))));
    EXPECT_TRUE(seen[10] && seen[20] && seen[30]);
}

TEST(ChanceDeathTest, RefusesAnEmptyRange) {
    const Chance chance(Seed{5}, Entity{}, "nothing");
    EXPECT_DEATH(chance.below(0, 0), "bound > 0");
    EXPECT_DEATH(chance.between(0, 2, 1), "low <= high");
}

TEST(Seed, SplitsByNameIntoIndependentParts) {
    const Seed seed{99};
    EXPECT_EQ(seed.split("network"), seed.split("network"));
    EXPECT_FALSE(seed.split("network") == seed.split("storage"));
    EXPECT_FALSE(seed.split("network", 0) == seed.split("network", 1));
    EXPECT_FALSE(seed.split("network", 0) == seed.split("network"));
}

}  // namespace
}  // namespace deadrank::sim
