// tests/runners/find/statistics_test.cpp — Goal: the intervals are those of the textbooks, and nothing is
// certain after a finite number of runs.
#include <gtest/gtest.h>

#include "runners/find/curve.h"

namespace deadrank::runners::find {
namespace {

void expect_near(const Interval& interval, double low, double high) {
    EXPECT_NEAR(interval.low, low, 5e-5);
    EXPECT_NEAR(interval.high, high, 5e-5);
}

// Reference values: R, binom::binom.confint(8, 10) and (0, 20), (20, 20).
TEST(Statistics, WilsonAgreesWithR) {
    expect_near(wilson(8, 10), 0.49016, 0.94331);
    expect_near(wilson(0, 20), 0, 0.16113);
    expect_near(wilson(20, 20), 0.83887, 1);
}

TEST(Statistics, ClopperPearsonAgreesWithR) {
    expect_near(clopper_pearson(8, 10), 0.44390, 0.97479);
    expect_near(clopper_pearson(0, 10), 0, 0.30850);
    expect_near(clopper_pearson(20, 20), 0.83157, 1);
}

TEST(Statistics, WithoutTriesNothingIsKnown) {
    expect_near(wilson(0, 0), 0, 1);
    expect_near(clopper_pearson(0, 0), 0, 1);
}

TEST(Statistics, ARareBugNeedsManyCleanRuns) {
    EXPECT_EQ(clean_runs_needed(0.01), 299u);  // the rule of three, exactly
    EXPECT_EQ(clean_runs_needed(0.5), 5u);
    EXPECT_EQ(clean_runs_needed(1.0), 1u);
    EXPECT_EQ(clean_runs_needed(0.0), std::nullopt);
    EXPECT_GT(*clean_runs_after(3, 1000), *clean_runs_needed(0.003))
        << "a rate that was only seen three times may be lower than it looks";
    EXPECT_EQ(clean_runs_after(0, 1000), std::nullopt);
}

}  // namespace
}  // namespace deadrank::runners::find
