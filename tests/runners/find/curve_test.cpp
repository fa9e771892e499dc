// tests/runners/find/curve_test.cpp — Goal: a planted threshold is found wherever it lies, what cannot be
// told is not counted as unseen, and no threshold is made up.
#include "runners/find/curve.h"

#include <gtest/gtest.h>
#if __has_include(<rapidcheck.h>)
#include <rapidcheck.h>
#define HAS_RAPIDCHECK 1
#endif

namespace deadrank::runners::find {
namespace {

CurveOptions curve_options(std::int64_t low, std::int64_t high) {
    CurveOptions options{.low = low, .high = high};
    for (std::uint64_t seed = 1; seed <= 20; ++seed) options.seeds.push_back(seed);
    return options;
}

// Seed s sees what is at or above its own threshold: base + s × spread.
ShootSeeds planted(std::int64_t base, std::int64_t spread) {
    return [=](std::int64_t magnitude, const std::vector<std::uint64_t>& seeds) {
        std::vector<Shot> shots;
        for (const std::uint64_t seed : seeds) {
            const bool seen = magnitude >= base + static_cast<std::int64_t>(seed) * spread;
            shots.push_back({.seen = seen, .harmed = true, .after = results::Time(magnitude)});
        }
        return shots;
    };
}

TEST(Curve, BracketsAPlantedThreshold) {
    const Curve curve = measure(curve_options(0, 10'000), planted(1'234, 0), {});
    ASSERT_EQ(curve.crossings.size(), 2u);
    EXPECT_LT(curve.crossings[0].unseen, 1'234);
    EXPECT_GE(curve.crossings[0].seen, 1'234);
    EXPECT_LE(curve.crossings[0].seen - curve.crossings[0].unseen, 1'234 / 15);
    EXPECT_TRUE(curve.monotone);
}

TEST(Curve, TellsHalfOfTheRunsFromNearlyAllOfThem) {
    const Curve curve = measure(curve_options(100, 1'000), planted(400, 10), {});
    ASSERT_EQ(curve.crossings.size(), 2u);
    EXPECT_NEAR(static_cast<double>(curve.crossings[0].seen), 500, 40);
    EXPECT_NEAR(static_cast<double>(curve.crossings[1].seen), 590, 45);
    for (const CurvePoint& point : curve.points) EXPECT_EQ(point.delays.size(), point.seen);
}

TEST(Curve, MakesUpNoThreshold) {
    EXPECT_TRUE(measure(curve_options(0, 100), planted(500, 0), {}).crossings.empty());
    EXPECT_TRUE(measure(curve_options(600, 1'000), planted(500, 0), {}).crossings.empty());
}

TEST(Curve, FindsWhatIsSeenBelowAThreshold) {
    const auto falling = [](std::int64_t magnitude, const std::vector<std::uint64_t>& seeds) {
        return std::vector<Shot>(seeds.size(), Shot{.seen = magnitude <= 70});
    };
    const Curve curve = measure(curve_options(0, 100), falling, {});
    ASSERT_FALSE(curve.crossings.empty());
    EXPECT_LE(curve.crossings[0].seen, 70);
    EXPECT_GT(curve.crossings[0].unseen, 70);
}

TEST(Curve, DoesNotCountWhatCannotBeTold) {
    const auto half = [](std::int64_t, const std::vector<std::uint64_t>& seeds) {
        std::vector<Shot> shots(seeds.size(), Shot{.seen = true});
        for (std::size_t i = 0; i < shots.size(); i += 2)
            shots[i] = {.known = false, .trouble = "it crashed"};
        return shots;
    };
    const Curve curve = measure(curve_options(1, 5), half, {{.seen = true}, {.seen = false}});
    for (const CurvePoint& point : curve.points) {
        EXPECT_EQ(point.shots, 10u);
        EXPECT_EQ(point.seen, 10u);
    }
    EXPECT_EQ(curve.trouble, "it crashed");
    EXPECT_EQ(curve.healthy.seen, 1u);
    EXPECT_EQ(curve.healthy.shots, 2u);
}

TEST(Curve, SaysWhenMoreIsSeenWorse) {
    const auto hole = [](std::int64_t magnitude, const std::vector<std::uint64_t>& seeds) {
        return std::vector<Shot>(seeds.size(), Shot{.seen = magnitude < 30 || magnitude > 60});
    };
    EXPECT_FALSE(measure(curve_options(0, 100), hole, {}).monotone);
}

TEST(Curve, KeepsWhatItHasWhenItIsStopped) {
    int asked = 0;
    CurveOptions options = curve_options(0, 100);
    options.stopped = [&] { return asked >= 3; };
    const auto volley = [&](std::int64_t magnitude, const std::vector<std::uint64_t>& seeds) {
        ++asked;
        return planted(50, 0)(magnitude, seeds);
    };
    EXPECT_LE(measure(options, volley, {}).points.size(), 3u);
}

#if HAS_RAPIDCHECK
TEST(CurveProperty, AThresholdWithinTheRangeIsAlwaysBracketed) {
    EXPECT_TRUE(rc::check("bracketed, to within a sixteenth", [] {
        const auto high = *rc::gen::inRange<std::int64_t>(10, 1'000'000'000'000);
        const auto threshold = *rc::gen::inRange<std::int64_t>(1, high);
        const Curve curve = measure(curve_options(0, high), planted(threshold, 0), {});
        RC_ASSERT(curve.crossings.size() == 2u);
        for (const Crossing& crossing : curve.crossings) {
            RC_ASSERT(crossing.unseen < threshold && crossing.seen >= threshold);
            RC_ASSERT(crossing.seen - crossing.unseen <= std::max<std::int64_t>(1, crossing.seen / 16));
        }
    }));
}
#else
TEST(CurveProperty, IsChecked) { GTEST_SKIP() << "rapidcheck is not installed"; }
#endif

}  // namespace
}  // namespace deadrank::runners::find
