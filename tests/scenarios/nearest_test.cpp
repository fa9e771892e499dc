// tests/scenarios/nearest_test.cpp — Goal: a mistyped word finds its neighbour, and a strange one finds none.
#include <gtest/gtest.h>

#include "scenarios/model/vocabulary.h"

namespace deadrank::tests {
namespace {

using scenarios::nearest;

const std::vector<std::string> words = {"step", "phase", "kill_rank", "skip_rank",
                                        "collective_deadlock_hang"};

TEST(Nearest, FindsLettersThatAreWrongMissingDoubledOrExchanged) {
    EXPECT_EQ(nearest("stpe", words), "step");
    EXPECT_EQ(nearest("ste", words), "step");
    EXPECT_EQ(nearest("stepp", words), "step");
    EXPECT_EQ(nearest("phaze", words), "phase");
    EXPECT_EQ(nearest("kil_rnak", words), "kill_rank");
    EXPECT_EQ(nearest("colective_dedlock_hang", words), "collective_deadlock_hang");
}

TEST(Nearest, IsSilentWhereNothingIsNear) {
    EXPECT_EQ(nearest("banana", words), "");
    EXPECT_EQ(nearest("", words), "");
    EXPECT_EQ(nearest("ab", {"xy"}), "");
    EXPECT_EQ(nearest("anything", {}), "");
    EXPECT_EQ(nearest(std::string(100'000, 'a'), words), "");
}

TEST(Nearest, PrefersTheFirstOfEquals) { EXPECT_EQ(nearest("skill_rank", words), "kill_rank"); }

}  // namespace
}  // namespace deadrank::tests
