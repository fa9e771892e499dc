// tests/results/alerts_verdict_test.cpp — Goal: every word of the verdict vocabulary is said when it is true,
// from intervals alone; a latency is a range; an alert that the healthy run has too says nothing about the
// failure.
#include "tests/results/alerts_site.h"

namespace deadrank::results::alerts::testing {
namespace {

using LabelSet = std::map<std::string, std::string>;

class AlertVerdicts : public ::testing::Test {
protected:
    // The failure strikes GPU 3 of node 2 at 15 min and is repaired at 30; the run ends at 45.
    Cell judged(const std::string& fault, std::vector<Instance> failing, std::vector<Instance> healthy = {}) {
        const exporters::Incident incident = site_.incident(fault);
        const HealthyRow row = judge_healthy(rule_, healthy, site_.world.window);
        return judge_cell({&rule_, &reads_, &healthy, &failing}, row, incident, site_.world,
                          exporters::touched(site_.world, incident));
    }
    Instance firing(const LabelSet& labels, double begin, double end = -1) {
        return {labels, {}, {{begin, end}}};
    }

    const LabelSet there_ = {{"instance", "gpu-node-002:9400"}, {"gpu", "3"}};
    const LabelSet elsewhere_ = {{"instance", "gpu-node-000:9400"}, {"gpu", "3"}};
    Site site_;
    Rule rule_{.name = "A", .expr = "DCGM_FI_DEV_GPU_TEMP > 85", .hold = 60};
    RuleReads reads_{.reads = scan(rule_.expr), .metrics = {"DCGM_FI_DEV_GPU_TEMP"}};
};

TEST_F(AlertVerdicts, CaughtIsARangeAndNamesThePlace) {
    const Cell cell = judged("thermal_throttle", {firing(there_, 1155, 1900)});
    EXPECT_EQ(cell.verdict, AlertVerdict::caught);
    EXPECT_EQ(cell.latency_low, 255);
    EXPECT_EQ(cell.latency_high, 285);
    EXPECT_EQ(cell.place, Place::exact);
    EXPECT_EQ(judged("thermal_throttle", {firing({{"job", "x"}}, 1155, 1900)}).place, Place::nowhere);
    EXPECT_EQ(judged("thermal_throttle", {firing({{"instance", "gpu-node-002:9400"}}, 1155, 1900)}).place,
              Place::node);
}

TEST_F(AlertVerdicts, LateIsPastTheObjective) {
    EXPECT_EQ(judged("thermal_throttle", {firing(there_, 1515, 1900)}).verdict, AlertVerdict::late);
}

TEST_F(AlertVerdicts, StickyDoesNotClearAfterTheRepair) {
    EXPECT_EQ(judged("thermal_throttle", {firing(there_, 1155)}).verdict, AlertVerdict::sticky);
}

TEST_F(AlertVerdicts, WrongPlaceNamesOnlyWhatIsWell) {
    EXPECT_EQ(judged("thermal_throttle", {firing(elsewhere_, 1155, 1900)}).verdict,
              AlertVerdict::wrong_place);
}

TEST_F(AlertVerdicts, PendingOnlySaysHowMuchLongerItNeeded) {
    const Cell cell = judged("thermal_throttle", {{there_, {{1000, 1045}}, {}}});
    EXPECT_EQ(cell.verdict, AlertVerdict::pending_only);
    EXPECT_EQ(cell.needed, 15);
}

TEST_F(AlertVerdicts, MissedReadsWhatMovesAndUnconcernedDoesNot) {
    EXPECT_EQ(judged("thermal_throttle", {}).verdict, AlertVerdict::missed);
    EXPECT_EQ(judged("ib_port_flap", {}).verdict, AlertVerdict::unconcerned);
}

TEST_F(AlertVerdicts, BackgroundAndFalseAlarmsAreTheHealthyRuns) {
    const std::vector<Instance> always = {firing({}, 0)}, sometimes = {firing(there_, 500, 600)};
    EXPECT_EQ(judged("thermal_throttle", always, always).verdict, AlertVerdict::background);
    EXPECT_EQ(judged("thermal_throttle", sometimes, sometimes).verdict, AlertVerdict::false_alarm);
    // What fires at the same time on the healthy run is not caught, even after the failure.
    const std::vector<Instance> noise = {firing(there_, 1155, 1200)};
    EXPECT_EQ(judged("thermal_throttle", noise, noise).verdict, AlertVerdict::false_alarm);
}

TEST_F(AlertVerdicts, DeadIsSaidOnlyOfWhatNeverFired) {
    reads_.dead = true;
    reads_.why_dead = "nothing emits it";
    EXPECT_EQ(judged("thermal_throttle", {}).verdict, AlertVerdict::dead);
    EXPECT_EQ(judged("thermal_throttle", {firing(there_, 1155, 1900)}).verdict, AlertVerdict::caught);
}

TEST(AlertActivity, PairsEdgesIntoIntervalsForTheRuleThatSetTheLabels) {
    const std::vector<Rule> rules = {{.name = "A", .labels = {{"severity", "warning"}}},
                                     {.name = "A", .labels = {{"severity", "page"}}}};
    const auto sample = [](const char* state, double value) {
        return external::Sample{
            {{"__name__", "ALERTS"}, {"alertname", "A"}, {"alertstate", state}, {"severity", "page"}}, value};
    };
    const Activity activity = activity_of({{"", 30, {sample("pending", 1)}},
                                           {"", 90, {sample("pending", 0), sample("firing", 1)}},
                                           {"", 300, {sample("firing", 0)}}},
                                          rules, 0);
    EXPECT_TRUE(activity[0].empty());
    ASSERT_EQ(activity[1].size(), 1u);
    EXPECT_EQ(activity[1][0].pending[0].end, 90);
    EXPECT_EQ(activity[1][0].firing[0].begin, 90);
    EXPECT_EQ(activity[1][0].firing[0].end, 300);
}

TEST(AlertPolicy, RefusesUnknownWordsWithTheirLine) {
    const std::string file = scratch() + "-policy.toml";
    std::FILE* out = std::fopen(file.c_str(), "w");
    std::fputs("[[must]]\nfault = \"a\"\nwithn = \"5m\"\n", out);
    std::fclose(out);
    const auto policy = load_policy(file);
    ASSERT_FALSE(policy);
    EXPECT_NE(policy.error().text().find(":3"), std::string::npos) << policy.error().text();
    EXPECT_NE(policy.error().text().find("within"), std::string::npos);
    EXPECT_TRUE(load_policy(rule_file("policy.toml")));
}

}  // namespace
}  // namespace deadrank::results::alerts::testing
