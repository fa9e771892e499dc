// tests/explore_order_test.cpp — Goal: no verdict of the catalog hangs on who happens to come first where two
// things happen at one time: with such ties broken by chance, each scenario is judged as without.
#include <gtest/gtest.h>

#include "tests/support/catalog.h"

namespace deadrank {
namespace {

TEST(SlowExploreOrder, EveryScenarioKeepsItsVerdict) {
    const tests::ShippedCatalog catalog;
    runners::SimRunner sim;
    runners::PipelineOptions explored;
    explored.explore_order = true;
    for (const scenarios::Scenario& scenario : catalog.scenarios) {
        for (std::uint64_t seed = 1; seed <= 5; ++seed) {
            const auto plain = runners::play(scenario, {seed}, sim, catalog.vocabulary);
            const auto mixed = runners::play(scenario, {seed}, sim, catalog.vocabulary, explored);
            EXPECT_EQ(mixed.outcome.verdict, plain.outcome.verdict)
                << scenario.id << ": " << mixed.outcome.reason << "\nsee it again: deadrank run "
                << scenario.id << " --seed " << seed << " --explore-order";
        }
    }
}

// Goal: the orders are really mixed: some run of the catalog is another one under chance.
TEST(ExploreOrder, MixesWhatHappensAtOneTime) {
    const tests::ShippedCatalog catalog;
    runners::SimRunner sim;
    runners::PipelineOptions explored;
    explored.explore_order = true;
    const scenarios::Scenario& scenario = catalog.named("communication/rank_leaves_all_reduce");
    const auto plain = runners::play(scenario, {1}, sim, catalog.vocabulary);
    const auto mixed = runners::play(scenario, {1}, sim, catalog.vocabulary, explored);
    EXPECT_NE(mixed.outcome.trace_hash, plain.outcome.trace_hash);
    EXPECT_NE(mixed.outcome.token, plain.outcome.token);
}

}  // namespace
}  // namespace deadrank
