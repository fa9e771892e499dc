// tests/canary_test.cpp — Tests of the testing: a wrong expectation must fail and say who was blamed instead;
// a fault taken away must leave nothing to be caught. Detectors taken away: mutation_test.cpp.
#include <gtest/gtest.h>

#include "tests/support/catalog.h"

namespace deadrank {
namespace {

// Goal: the judge is not a yes-man. Every scenario that blames a rank fails when another rank is expected.
TEST(Canary, AWrongRankIsRefusedAndTheRightOneNamed) {
    const tests::ShippedCatalog catalog;
    runners::SimRunner sim;
    runners::PipelineOptions options;
    options.control = options.healed = false;
    int tried = 0;
    for (scenarios::Scenario scenario : catalog.scenarios) {
        if (!scenario.expect.asks_for(scenarios::BlameField::rank)) continue;
        const auto right = runners::play(scenario, {1}, sim, catalog.vocabulary, options);
        ASSERT_TRUE(right.fault) << scenario.id;
        const auto culprits = right.fault->record.truth.culprit().ranks;
        std::vector<std::int64_t> blamed = scenario.expect.ranks;
        if (blamed.empty()) blamed.assign(culprits.begin(), culprits.end());
        scenario.expect.rank_words.clear();
        scenario.expect.ranks = {blamed == std::vector<std::int64_t>{0} ? 1 : 0};
        const auto wrong = runners::play(scenario, {1}, sim, catalog.vocabulary, options);
        EXPECT_EQ(wrong.outcome.verdict, results::Verdict::fail) << scenario.id;
        EXPECT_NE(wrong.outcome.reason.find("rank"), std::string::npos)
            << scenario.id << ": " << wrong.outcome.reason;
        ++tried;
    }
    EXPECT_GE(tried, 15);
}

// Goal: no scenario is caught without its fault: then the run says that the fault never happened.
TEST(Canary, WithoutItsFaultNothingIsCaught) {
    const tests::ShippedCatalog catalog;
    runners::SimRunner sim;
    for (scenarios::Scenario scenario : catalog.scenarios) {
        scenario.faults.clear();
        const auto empty = runners::play(scenario, {1}, sim, catalog.vocabulary);
        EXPECT_NE(empty.outcome.verdict, results::Verdict::pass)
            << scenario.id << " passes without its fault";
    }
}

}  // namespace
}  // namespace deadrank
