// tests/catalog_test.cpp — Every shipped scenario in the simulator: caught with its fault, quiet without it,
// quiet when healed. The test finds the files itself, so a new TOML needs no C++.
#include "tests/support/catalog.h"

#include <gtest/gtest.h>

#include "results/record/words.h"

namespace deadrank {
namespace {

void expect_all_pass(std::uint64_t first_seed, std::uint64_t last_seed) {
    const tests::ShippedCatalog catalog;
    runners::SimRunner sim;
    for (const scenarios::Scenario& scenario : catalog.scenarios) {
        for (std::uint64_t seed = first_seed; seed <= last_seed; ++seed) {
            const auto trialled = runners::play(scenario, {seed}, sim, catalog.vocabulary);
            EXPECT_EQ(trialled.outcome.verdict, results::Verdict::pass)
                << scenario.id << ": " << trialled.outcome.reason << "\nsee it again: deadrank run "
                << scenario.id << " --seed " << seed;
        }
    }
}

// Goal: what the catalog promises holds today, for the seed that everybody tries first.
TEST(Catalog, PassesInTheSimulatorWithItsControlsAndHealedRuns) { expect_all_pass(1, 1); }

// Goal: no promise hangs on one lucky draw of ranks, steps and shapes.
TEST(SlowCatalog, PassesUnderTwentySeeds) { expect_all_pass(1, 20); }

// Goal: a scenario is more than its fault: it tells where it happened, and teaches.
TEST(Catalog, TellsOfEveryBugWhereItHappenedAndWhatItTeaches) {
    for (const scenarios::Scenario& scenario : tests::ShippedCatalog().scenarios) {
        EXPECT_FALSE(scenario.bug.replays.empty()) << scenario.id << " cites no public report";
        EXPECT_GT(scenario.story.size(), 80u) << scenario.id << " opens without its story";
        EXPECT_FALSE(scenario.teach.title.empty() || scenario.teach.sees.empty() ||
                     scenario.teach.question.empty() || scenario.teach.answer.empty() ||
                     scenario.teach.why.empty())
            << scenario.id << " has a gap in [teach]";
        EXPECT_EQ(scenario.teach.hints.size(), 2u) << scenario.id;
        EXPECT_FALSE(scenario.faults.empty()) << scenario.id << " injects nothing";
    }
}

// Goal: where a fix replaces a node, nothing less would do: with the same restarts and without a spare the
// defect is met again.
TEST(Catalog, FixesThatReplaceANodeNeedTheSpare) {
    const tests::ShippedCatalog catalog;
    runners::SimRunner sim;
    std::size_t replaced = 0;
    for (scenarios::Scenario scenario : catalog.scenarios) {
        if (!scenario.heal.cluster.contains("spare_nodes")) continue;
        ++replaced;
        scenario.heal.cluster.erase("spare_nodes");
        scenario.heal.cluster.erase("health_check");
        const auto trialled = runners::play(scenario, {1}, sim, catalog.vocabulary);
        ASSERT_TRUE(trialled.outcome.healed) << scenario.id << ": " << trialled.outcome.reason;
        EXPECT_NE(trialled.outcome.healed->verdict, results::Verdict::pass)
            << scenario.id << " is healed by a restart alone";
    }
    EXPECT_GE(replaced, 11u);
}

}  // namespace
}  // namespace deadrank
