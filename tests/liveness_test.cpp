// tests/liveness_test.cpp — Goal: a job that can go on no more is known to be stuck at once, with who waits
// for whom; and a scenario may demand that the job has recovered, or is at its end, in time.
#include <algorithm>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/catalog.h"

namespace deadrank {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::HasSubstr;

class Liveness : public ::testing::Test {
protected:
    // The scenario as shipped, but its job must be well again or at its end so soon after the fault.
    results::Case with_bound(const std::string& id, results::Time bound) {
        scenarios::Scenario scenario = catalog_.named(id);
        scenario.expect.recovers_within = bound.count();
        return play(scenario).outcome;
    }
    runners::Trialled play(const scenarios::Scenario& scenario) {
        return runners::play(scenario, {1}, sim_, catalog_.vocabulary);
    }
    // Passes where there is time enough; with next to none the verdict says what it took.
    void expect_bound_counts(const std::string& id, const std::string& words) {
        const results::Case enough = with_bound(id, 48h);
        EXPECT_EQ(enough.verdict, results::Verdict::pass) << id << ": " << enough.reason;
        const results::Case too_little = with_bound(id, 1ns);
        EXPECT_EQ(too_little.verdict, results::Verdict::fail) << id;
        EXPECT_THAT(too_little.reason, HasSubstr(words)) << id;
    }

    const tests::ShippedCatalog catalog_;
    runners::SimRunner sim_;
};

TEST_F(Liveness, AJobThatIsStuckIsKnownAtOnceWithWhoWaitsForWhom) {
    const auto trialled = play(catalog_.named("communication/rank_leaves_all_reduce"));
    ASSERT_TRUE(trialled.fault) << trialled.outcome.reason;
    const results::Truth& truth = trialled.fault->record.truth;
    const auto mark = std::find_if(truth.marks.begin(), truth.marks.end(), [](const results::Mark& one) {
        return one.kind == results::MarkKind::deadlock;
    });
    ASSERT_NE(mark, truth.marks.end());
    EXPECT_LT(mark->at - truth.first_fault(), 1s) << "no time passes where nothing can happen";
    EXPECT_THAT(mark->says, HasSubstr("waits in all_reduce"));
    EXPECT_THAT(mark->says, HasSubstr("which exited (signal 9)"));
    EXPECT_THAT(truth.waits_for, Contains(HasSubstr("which exited (signal 9)")));
}

TEST_F(Liveness, AJobThatNeverEndsFailsAnyBound) {
    const results::Case hung = with_bound("communication/rank_leaves_all_reduce", 48h);
    EXPECT_EQ(hung.verdict, results::Verdict::fail);
    EXPECT_THAT(hung.reason, HasSubstr("it never was"));
}

TEST_F(Liveness, AnEndWithAnErrorMustComeInTime) {
    expect_bound_counts("fault_tolerance/software_bug_crashes_one_rank", "it took ");
    ;
}
TEST_F(Liveness, ARestartMustComeInTime) {
    expect_bound_counts("fault_tolerance/checkpoint_lost_in_a_crash", "it took ");
    ;
}

}  // namespace
}  // namespace deadrank
