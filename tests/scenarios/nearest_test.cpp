// tests/scenarios/nearest_test.cpp — Goal: a mistyped word finds its neighbour, and a strange one finds none.
#include <gtest/gtest.h>

#include "scenarios/model/vocabulary.h"

namespace deadrank::tests {
namespace {

using scenarios::nearest;

const std::vector<std::string> nearest_words = {"step", "phase", "kill_rank", "skip_rank",
                                                "collective_deadlock_hang"};

TEST(Nearest, FindsLettersThatAreWrongMissingDoubledOrExchanged) {
    EXPECT_EQ(nearest("stpe", nearest_words), "step");
    EXPECT_EQ(nearest("ste", nearest_words), "step");
    EXPECT_EQ(nearest("stepp", nearest_words), "step");
    EXPECT_EQ(nearest("phaze", nearest_words), "phase");
    EXPECT_EQ(nearest("kil_rnak", nearest_words), "kill_rank");
    EXPECT_EQ(nearest("colective_dedlock_hang", nearest_words), "collective_deadlock_hang");
}

TEST(Nearest, IsSilentWhereNothingIsNear) {
    EXPECT_EQ(nearest("banana", nearest_words), "");
    EXPECT_EQ(nearest("", nearest_words), "");
    EXPECT_EQ(nearest("ab", {"xy"}), "");
    EXPECT_EQ(nearest("anything", {}), "");
    EXPECT_EQ(nearest(std::string(100'000, 'a'), nearest_words), "");
}

TEST(Nearest, PrefersTheFirstOfEquals) { EXPECT_EQ(nearest("skill_rank", nearest_words), "kill_rank"); }

}  // namespace
}  // namespace deadrank::tests
