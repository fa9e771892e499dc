// tests/runners/find/scenario_text_test.cpp — Goal: any plan, written as a scenario, resolves to itself.
#include <gtest/gtest.h>

#include "runners/find/finds.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/format/scenario_file.h"
#include "tests/runners/find/planted.h"

namespace deadrank::runners::find {
namespace {

TEST(ScenarioText, GivesEveryShippedPlanBack) {
    for (const scenarios::Scenario& scenario : testing::catalog().scenarios) {
        const scenarios::Capabilities able{.levers = {"*"}, .workloads = {"*"}};
        const auto trial = scenarios::resolve(scenario, {3}, able, testing::words());
        ASSERT_TRUE(trial.has_value()) << scenario.id;
        const std::string text = scenario_text(trial->fault, testing::words(), scenario.story);
        const auto again =
            scenarios::parse_scenario(text, scenario.id + ".toml", testing::taxonomy(), testing::words());
        ASSERT_TRUE(again.has_value()) << scenario.id << ": " << again.error().text() << "\n" << text;
        const auto resolved = scenarios::resolve(*again, {3}, able, testing::words());
        ASSERT_TRUE(resolved.has_value()) << resolved.error().text();
        EXPECT_EQ(resolved->fault.cluster, trial->fault.cluster) << text;
        EXPECT_EQ(resolved->fault.workload, trial->fault.workload) << text;
        EXPECT_EQ(resolved->fault.faults, trial->fault.faults) << text;
        EXPECT_EQ(resolved->fault.expect, trial->fault.expect) << text;
        EXPECT_LT(text.size(), scenarios::to_toml(trial->fault).size()) << "nothing was left out";
    }
}

}  // namespace
}  // namespace deadrank::runners::find
