// tests/runners/explore/shrink_test.cpp — Faults of a user's program become fewer, and their numbers smaller.
#include <gmock/gmock.h>

#include "runners/explore/program_shrink.h"

namespace deadrank::runners::explore {
namespace {

using testing::ElementsAre;

ShrunkProgram shrink(const ProgramCase& from, const std::function<bool(const ProgramCase&)>& alike,
                     std::size_t tries = 1000) {
    return shrink_program(from, alike, tries, [] { return false; });
}

bool has_line(const ProgramCase& one, const std::string& part) {
    return std::any_of(one.faults.begin(), one.faults.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
}

TEST(ShrinkProgram, LeavesOutWhatTheEndDoesNotNeed) {
    const auto shrunk = shrink({{"kill rank 5 before all_reduce 7", "delay all_gather 3 30s rank 1"}, 8},
                               [](const ProgramCase& one) { return has_line(one, "kill rank "); });
    EXPECT_THAT(shrunk.least.faults, ElementsAre("kill rank 0"));
    EXPECT_EQ(shrunk.least.ranks, 1);
    EXPECT_TRUE(shrunk.finished);
}

TEST(ShrinkProgram, KeepsTheSmallestNumberThatEndsAlike) {
    const auto needs_third_call = [](const ProgramCase& one) {
        return one.ranks >= 2 && (has_line(one, "all_reduce 3") || has_line(one, "all_reduce 7"));
    };
    const auto shrunk = shrink({{"skip all_reduce 7 rank 1"}, 8}, needs_third_call);
    EXPECT_EQ(shrunk.least.ranks, 2);
    EXPECT_TRUE(has_line(shrunk.least, "all_reduce 3")) << shrunk.least.faults.front();
}

TEST(ShrinkProgram, StopsAfterSoManyTries) {
    const auto shrunk = shrink({{"kill rank 5 before all_reduce 7"}, 8}, [](const ProgramCase&) { return false; }, 3);
    EXPECT_EQ(shrunk.tries, 3U);
    EXPECT_FALSE(shrunk.finished);
    EXPECT_THAT(shrunk.least.faults, ElementsAre("kill rank 5 before all_reduce 7"));
}

}  // namespace
}  // namespace deadrank::runners::explore
