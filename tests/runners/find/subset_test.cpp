// tests/runners/find/subset_test.cpp — Goal: the members that matter are found, nothing can be left out of
// what is found, and a smaller way to fail is found behind a larger one.
#include <algorithm>
#include <gtest/gtest.h>

#include "runners/find/shrink.h"
#if __has_include(<rapidcheck.h>)
#include <rapidcheck.h>
#define HAS_RAPIDCHECK 1
#endif

namespace deadrank::runners::find {
namespace {

bool holds(const Subset& subset, const Subset& wanted) {
    return std::includes(subset.begin(), subset.end(), wanted.begin(), wanted.end());
}

TEST(Subset, FindsTheOneThatMatters) {
    int asked = 0;
    const Subset found =
        smallest_subset(200, [&](const Subset& some) { return ++asked, holds(some, {137}); });
    EXPECT_EQ(found, Subset{137});
    EXPECT_LT(asked, 40);
}

TEST(Subset, FindsScatteredMembersThatFailOnlyTogether) {
    const Subset wanted = {3, 77, 78, 150, 199};
    EXPECT_EQ(smallest_subset(200, [&](const Subset& some) { return holds(some, wanted); }), wanted);
}

TEST(Subset, LooksBehindTheFirstMinimumForASmallerOne) {
    const auto fails = [](const Subset& some) { return holds(some, {0, 1, 2, 3}) || holds(some, {190}); };
    EXPECT_EQ(smallest_subset(200, fails), Subset{190});
}

TEST(Subset, AsksAboutNoSubsetTwice) {
    std::vector<Subset> asked;
    (void)smallest_subset(60, [&](const Subset& some) {
        EXPECT_EQ(std::count(asked.begin(), asked.end(), some), 0);
        asked.push_back(some);
        return holds(some, {7, 30}) || holds(some, {8, 9, 50});
    });
    EXPECT_GT(asked.size(), 5u);
}

#if HAS_RAPIDCHECK
TEST(SubsetProperty, WhatIsFoundFailsAndLacksNothing) {
    EXPECT_TRUE(rc::check("fails, and not without any one member", [] {
        // Fails when it holds all of one of a few clauses, but for those that hold a spoiler: not monotone.
        const auto clauses = *rc::gen::resize(
            4, rc::gen::nonEmpty(rc::gen::container<std::vector<std::vector<std::size_t>>>(rc::gen::nonEmpty(
                   rc::gen::container<std::vector<std::size_t>>(rc::gen::inRange<std::size_t>(0, 40))))));
        std::vector<Subset> sorted;
        for (Subset clause : clauses) {
            std::sort(clause.begin(), clause.end());
            clause.erase(std::unique(clause.begin(), clause.end()), clause.end());
            sorted.push_back(clause);
        }
        const auto fails = [&](const Subset& some) {
            return std::any_of(sorted.begin(), sorted.end(),
                               [&](const Subset& clause) { return holds(some, clause); });
        };
        const Subset found = smallest_subset(40, fails);
        RC_ASSERT(fails(found));
        for (std::size_t i = 0; i < found.size(); ++i) {
            Subset less = found;
            less.erase(less.begin() + static_cast<std::ptrdiff_t>(i));
            RC_ASSERT(less.empty() || !fails(less));
        }
        RC_ASSERT(found == smallest_subset(40, fails));
    }));
}
#else
TEST(SubsetProperty, IsChecked) { GTEST_SKIP() << "rapidcheck is not installed"; }
#endif

}  // namespace
}  // namespace deadrank::runners::find
