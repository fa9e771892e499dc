// tests/canary_test.cpp — Tests of the testing: a wrong expectation must fail and say who was blamed instead;
// a detector taken away must turn its scenarios red; a fault taken away must leave nothing to be caught.
#include <gtest/gtest.h>
#include <iostream>
#include <tuple>
#include <vector>

#include "tests/support/catalog.h"

namespace deadrank {
namespace {

runners::LineOptions fault_alone() {
    runners::LineOptions options;
    options.control = options.healed = false;
    return options;
}

// One run of each scenario is enough to ask any detectors about it.
std::vector<runners::Played> played_once(const tests::ShippedCatalog& catalog) {
    runners::SimRunner sim;
    std::vector<runners::Played> all;
    for (const auto& scenario : catalog.scenarios) {
        auto trialled = runners::play(scenario, {1}, sim, catalog.vocabulary, fault_alone());
        if (trialled.fault) all.push_back(std::move(*trialled.fault));
    }
    return all;
}

results::Verdict verdict_of(const runners::Played& played, const results::Detectors& detectors) {
    const auto& [truth, evidence] = std::tie(played.record.truth, played.record.evidence);
    return results::judge(played.plan.expect, truth, evidence, results::detect(evidence, detectors)).verdict;
}

// Goal: the judge is not a yes-man. Every scenario that blames a rank fails when another rank is expected.
TEST(Canary, AWrongRankIsRefusedAndTheRightOneNamed) {
    const tests::ShippedCatalog catalog;
    runners::SimRunner sim;
    const runners::LineOptions options = fault_alone();
    int tried = 0;
    for (scenarios::Scenario scenario : catalog.scenarios) {
        const auto& blames = scenario.expect.blames;
        if (std::find(blames.begin(), blames.end(), "rank") == blames.end()) continue;
        const auto right = runners::play(scenario, {1}, sim, catalog.vocabulary, options);
        ASSERT_TRUE(right.fault) << scenario.id;
        const auto culprits = right.fault->record.truth.culprit().ranks;
        std::vector<std::int64_t> blamed = scenario.expect.ranks;
        if (blamed.empty()) blamed.assign(culprits.begin(), culprits.end());
        scenario.expect.ranks = {blamed == std::vector<std::int64_t>{0} ? 1 : 0};
        const auto wrong = runners::play(scenario, {1}, sim, catalog.vocabulary, options);
        EXPECT_EQ(wrong.outcome.verdict, results::Verdict::fail) << scenario.id;
        EXPECT_NE(wrong.outcome.reason.find("rank"), std::string::npos)
            << scenario.id << ": " << wrong.outcome.reason;
        ++tried;
    }
    EXPECT_GE(tried, 15);
}

// Goal: every detector earns its place. With its body emptied, what only it can see goes unseen.
TEST(Canary, ADetectorTakenAwayTurnsItsScenariosRed) {
    const tests::ShippedCatalog catalog;
    const auto runs = played_once(catalog);
    ASSERT_EQ(runs.size(), catalog.scenarios.size());
    const auto all = results::all_detectors();
    std::vector<results::Verdict> whole;
    for (const auto& run : runs) whole.push_back(verdict_of(run, all));
    std::size_t needed = 0;
    const std::size_t count = all.size();
    for (std::size_t without = 0; without < count; ++without) {
        results::Detectors detectors = results::all_detectors();
        const std::string name(detectors[without]->name());
        detectors.erase(detectors.begin() + static_cast<std::ptrdiff_t>(without));
        std::size_t red = 0;
        for (std::size_t i = 0; i < runs.size(); ++i) red += verdict_of(runs[i], detectors) != whole[i];
        needed += red > 0;
        std::cout << name << ": " << red << " scenarios go red without it"
                  << (red == 0 ? " — none needs it yet" : "") << "\n";
    }
    std::cout << "mutation score: " << needed << " of " << count << " detectors\n";
    EXPECT_GE(needed, 12u);
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
