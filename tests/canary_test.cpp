// tests/canary_test.cpp — Tests of the testing: a wrong expectation must fail and say who was blamed instead;
// a detector taken away must turn its scenarios red; a fault taken away must leave nothing to be caught.
#include <gtest/gtest.h>
#include <iostream>
#include <map>
#include <set>

#include "tests/support/catalog.h"

namespace deadrank {
namespace {

std::map<std::string, results::Verdict> verdicts(const tests::ShippedCatalog& catalog,
                                                 const results::Detectors* detectors) {
    runners::SimRunner sim;
    runners::LineOptions options;
    options.control = options.healed = false;
    options.detectors = detectors;
    std::map<std::string, results::Verdict> all;
    for (const auto& scenario : catalog.scenarios) {
        all[scenario.id] = runners::play(scenario, {1}, sim, catalog.vocabulary, options).outcome.verdict;
    }
    return all;
}

// Goal: the judge is not a yes-man. Every scenario that blames a rank fails when another rank is expected.
TEST(Canary, AWrongRankIsRefusedAndTheRightOneNamed) {
    const tests::ShippedCatalog catalog;
    runners::SimRunner sim;
    runners::LineOptions options;
    options.control = options.healed = false;
    int tried = 0;
    for (scenarios::Scenario scenario : catalog.scenarios) {
        const auto& blames = scenario.expect.blames;
        if (std::find(blames.begin(), blames.end(), "rank") == blames.end()) continue;
        const auto right = runners::play(scenario, {1}, sim, catalog.vocabulary, options);
        ASSERT_TRUE(right.fault) << scenario.id;
        const auto blamed = right.fault->record.truth.culprit().ranks;
        scenario.expect.ranks = {
            std::find(blamed.begin(), blamed.end(), 0) == blamed.end() || blamed.size() > 1 ? 0 : 1};
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
    const auto whole = verdicts(catalog, nullptr);
    std::size_t needed = 0;
    const std::size_t count = results::all_detectors().size();
    for (std::size_t without = 0; without < count; ++without) {
        results::Detectors detectors = results::all_detectors();
        const std::string name(detectors[without]->name());
        detectors.erase(detectors.begin() + static_cast<std::ptrdiff_t>(without));
        std::size_t red = 0;
        for (const auto& [id, verdict] : verdicts(catalog, &detectors)) red += verdict != whole.at(id);
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
