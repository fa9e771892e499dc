// tests/scenarios/draw_test.cpp — Goal: a draw depends on its names alone, is the same for ever, and favours
// nobody.
#include <gtest/gtest.h>
#include <map>

#include "scenarios/model/chance.h"

namespace deadrank::tests {
namespace {

using scenarios::Draw;

// A changed number here changes every plan ever drawn: old tokens would no longer show what they showed.
TEST(Draw, IsTheSameForEver) {
    EXPECT_EQ(Draw(1, "communication/rank_leaves_all_reduce", "fault.0.rank").at(0), 440474916644456344u);
    EXPECT_EQ(Draw(1, "a", "b").some({0, 1, 2, 3, 4, 5, 6, 7}, 3), (std::vector<std::int64_t>{1, 4, 6}));
}

TEST(Draw, DependsOnSeedEntityAndPurpose) {
    const std::uint64_t one = Draw(1, "a", "b").at(0);
    EXPECT_NE(one, Draw(2, "a", "b").at(0));
    EXPECT_NE(one, Draw(1, "b", "a").at(0));
    EXPECT_NE(one, Draw(1, "a", "c").at(0));
    EXPECT_NE(one, Draw(1, "a", "b").at(1));
    EXPECT_EQ(one, Draw(1, "a", "b").at(0));
}

TEST(Draw, FavoursNobody) {
    std::map<std::uint64_t, int> seen;
    for (std::uint64_t seed = 0; seed < 30'000; ++seed) ++seen[Draw(seed, "a", "b").below(0, 3)];
    ASSERT_EQ(seen.size(), 3u);
    for (const auto& [value, times] : seen) EXPECT_NEAR(times, 10'000, 400) << value;
}

TEST(Draw, HoldsItsBounds) {
    for (std::uint64_t n = 0; n < 1'000; ++n) {
        const Draw draw(n, "a", "b");
        EXPECT_EQ(draw.below(n, 1), 0u);
        EXPECT_EQ(draw.between(n, 5, 5), 5);
        EXPECT_LE(draw.between(n, -2, 1), 1);
        EXPECT_GE(draw.between(n, -2, 1), -2);
        (void)draw.between(n, INT64_MIN, INT64_MAX);
    }
}

}  // namespace
}  // namespace deadrank::tests
