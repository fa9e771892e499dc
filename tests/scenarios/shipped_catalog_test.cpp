// tests/scenarios/shipped_catalog_test.cpp — Goal: every shipped scenario loads, can be meant under twenty
// seeds, cites a report and can be taught.
#include <gtest/gtest.h>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "runners/extension/extension.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "tests/scenarios/sample.h"

namespace deadrank::tests {
namespace {

const scenarios::Vocabulary& shipped_words() {
    static const scenarios::Vocabulary all = runners::vocabulary();
    return all;
}

const scenarios::Catalog& catalog() {
    static const scenarios::Catalog shipped =
        scenarios::load_catalog(DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog", sample_taxonomy(),
                                shipped_words())
            .value();
    return shipped;
}

TEST(ShippedCatalog, Loads) {
    EXPECT_FALSE(catalog().scenarios.empty());
    for (const auto& error : catalog().broken) ADD_FAILURE() << error.text();
}

TEST(ShippedCatalog, CanBeMeantUnderTwentySeedsAndReadsBack) {
    const scenarios::Capabilities all{.levers = {"*"}, .workloads = {"*"}};
    for (const auto& scenario : catalog().scenarios) {
        for (std::uint64_t seed = 1; seed <= 20; ++seed) {
            const auto trial = scenarios::resolve(scenario, {seed}, all, shipped_words());
            ASSERT_TRUE(trial) << "deadrank replay plan " << scenario.id << " --seed " << seed << "\n"
                               << trial.error().text();
            const auto back = scenarios::parse_plan(scenarios::to_toml(trial->fault), "plan.toml",
                                                    sample_taxonomy(), shipped_words());
            ASSERT_TRUE(back) << scenario.id << ": " << back.error().text();
            EXPECT_EQ(*back, trial->fault) << scenario.id;
        }
    }
}

TEST(ShippedCatalog, CitesAPublicReportForEachBug) {
    for (const auto& scenario : catalog().scenarios)
        EXPECT_FALSE(scenario.bug.replays.empty()) << scenario.file;
}

// Goal: a report is a story; one that stands behind four is behind three too many.
TEST(ShippedCatalog, TellsNoFourStoriesFromOneReport) {
    std::map<std::string, std::vector<std::string>> behind;
    for (const auto& scenario : catalog().scenarios)
        for (const std::string& report : scenario.bug.replays) behind[report].push_back(scenario.id);
    for (const auto& [report, scenarios] : behind)
        EXPECT_LE(scenarios.size(), 3u) << report << ": " << ::testing::PrintToString(scenarios);
}

TEST(ShippedCatalog, TellsAStoryAndCanBeTaught) {
    for (const auto& scenario : catalog().scenarios) {
        EXPECT_GE(scenario.story.size(), 80u) << scenario.file << ": " << scenario.story;
        EXPECT_FALSE(scenario.heal.says.empty()) << scenario.file;
        for (const std::string* text : {&scenario.teach.title, &scenario.teach.sees, &scenario.teach.question,
                                        &scenario.teach.answer, &scenario.teach.why}) {
            EXPECT_FALSE(text->empty()) << scenario.file << ": something in [teach] is empty";
        }
        EXPECT_GE(scenario.teach.hints.size(), 2u) << scenario.file;
    }
}

}  // namespace
}  // namespace deadrank::tests
