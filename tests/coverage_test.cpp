// tests/coverage_test.cpp — Goal: no id of the taxonomy loses its last scenario unnoticed, and a gap is told
// with its reason.
#include "results/judging/coverage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "scenarios/format/taxonomy_file.h"
#include "tests/support/catalog.h"

namespace deadrank {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAreArray;

scenarios::Taxonomy shipped_taxonomy() {
    auto taxonomy =
        scenarios::load_taxonomy(std::string(DEADRANK_SOURCE_DIRECTORY) + "/scenarios/taxonomy.toml");
    if (!taxonomy) throw std::runtime_error(taxonomy.error().text());
    return std::move(*taxonomy);
}

// Ids that wait for their first scenario. The lists only shrink: an id that has one is struck off here.
const std::vector<std::string> waiting_symptoms = {};
const std::vector<std::string> waiting_causes = {};

TEST(Coverage, EveryIdOfTheTaxonomyKeepsAScenario) {
    const auto coverage = results::coverage_of(tests::ShippedCatalog().scenarios, shipped_taxonomy());
    EXPECT_THAT(coverage.symptoms.missing(), UnorderedElementsAreArray(waiting_symptoms));
    EXPECT_THAT(coverage.causes.missing(), UnorderedElementsAreArray(waiting_causes));
    EXPECT_TRUE(coverage.fixes.missing().empty());
    EXPECT_TRUE(coverage.stages.missing().empty());
}

// Goal: taking the last scenario of an id away is seen, whichever id it is.
TEST(Coverage, AnIdThatLosesItsLastScenarioIsMissing) {
    const tests::ShippedCatalog catalog;
    const scenarios::Taxonomy taxonomy = shipped_taxonomy();
    for (const auto& symptom : taxonomy.symptoms) {
        auto left = catalog.scenarios;
        std::erase_if(left, [&](const auto& one) { return one.bug.symptom == symptom.id; });
        EXPECT_THAT(results::coverage_of(left, taxonomy).symptoms.missing(), ::testing::Contains(symptom.id));
    }
}

TEST(Coverage, AGapSaysWhatThereIsInstead) {
    const scenarios::Taxonomy taxonomy = shipped_taxonomy();
    const auto nothing = results::coverage_of({}, taxonomy);
    ASSERT_EQ(nothing.gaps.size(), taxonomy.pairs.size());
    EXPECT_EQ(nothing.gaps.front().why, "neither has a scenario yet");
    EXPECT_FALSE(nothing.gaps.front().proposed.empty());
    scenarios::Scenario other;
    other.bug = {"initialization",
                 taxonomy.pairs.front().symptom,
                 "rank_local_slowdown",
                 taxonomy.fixes.front().id,
                 {}};
    EXPECT_THAT(results::coverage_of({other}, taxonomy).gaps.front().why, HasSubstr("cause has no scenario"));
}

// Goal: a pair whose scenarios are all healed by one fix pattern still lacks the other ones proposed.
TEST(Coverage, AFixPatternOfACoveredPairMayBeMissing) {
    const scenarios::Taxonomy taxonomy = shipped_taxonomy();
    for (const auto& pair : taxonomy.pairs) {
        if (pair.fixes.size() < 2) continue;
        scenarios::Scenario one;
        one.bug = {"initialization", pair.symptom, pair.cause, pair.fixes.front(), {}};
        const auto coverage = results::coverage_of({one}, taxonomy);
        ASSERT_EQ(coverage.fix_gaps.size(), pair.fixes.size() - 1);
        EXPECT_EQ(coverage.fix_gaps.front().fix, pair.fixes[1]);
        return;
    }
    FAIL() << "no pair proposes two fix patterns";
}

// Goal: what users did for want of a fix is never counted as one.
TEST(Coverage, CountsAWorkaroundApart) {
    scenarios::Scenario one;
    one.heal.faults = {{.kept = true}};
    one.heal.cluster["watchdog"] = {};
    const scenarios::Taxonomy taxonomy = shipped_taxonomy();
    one.bug = {"initialization",
               taxonomy.pairs.front().symptom,
               taxonomy.pairs.front().cause,
               taxonomy.fixes.front().id,
               {}};
    EXPECT_EQ(results::coverage_of({one}, taxonomy).checks.heals_keep, 1u);
    one.heal.workaround = "the report ends without a fix";
    const results::Strictness checks = results::coverage_of({one}, taxonomy).checks;
    EXPECT_EQ(checks.heals_workaround, 1u);
    EXPECT_EQ(checks.heals_keep, 0u);
    EXPECT_TRUE(checks.heals_missing.empty());
}

}  // namespace
}  // namespace deadrank
