// tests/results/alerts_reach_test.cpp — Goal: a rule is played again for a failure when that changes what the
// rule sees, and only then; so is an alert whose state such a rule reads.
#include "results/alerts/healthy_memory.h"
#include "results/external/promtool.h"
#include "tests/results/alerts_site.h"

namespace deadrank::results::alerts::testing {
namespace {

class AlertReach : public ::testing::Test {
protected:
    Reach reach(const std::vector<Rule>& rules, const std::string& fault) {
        const auto analysis = analyse(rules, emitted_, site_.world);
        std::vector<RuleSights> sights;
        for (std::size_t i = 0; i < rules.size(); ++i)
            sights.push_back(sights_of(rules[i], analysis.rules[i]));
        return reached_by(exporters::changed(site_.world, site_.incident(fault)), sights, rules);
    }
    bool reaches(const std::string& expr, const std::string& fault,
                 std::map<std::string, std::string> labels = {}) {
        return reach({{.name = "A", .expr = expr, .labels = std::move(labels)}}, fault).rules[0];
    }

    Site site_;
    const Emitted emitted_{site_.world, site_.signatures};
};

TEST_F(AlertReach, IsByTheLabelsThatASelectorAsksFor) {
    EXPECT_TRUE(reaches("DCGM_FI_DEV_GPU_TEMP > 85", "thermal_throttle"));
    EXPECT_TRUE(reaches("DCGM_FI_DEV_GPU_TEMP{gpu=~\"2|3\"} > 85", "thermal_throttle"));
    EXPECT_FALSE(reaches("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} > 85", "thermal_throttle")) << "it strikes GPU 3";
    EXPECT_FALSE(reaches("node_load1 > 85", "thermal_throttle"));
    EXPECT_TRUE(reaches("{__name__=~\"DCGM_FI_DEV_GPU_T.*\"} > 85", "thermal_throttle"));
    EXPECT_FALSE(reaches("vector(1)", "thermal_throttle"));
    EXPECT_TRUE(reaches("DCGM_FI_DEV_XID_ERRORS{err_code=\"79\"} > 0", "gpu_off_bus"))
        << "a label that changes";
}

TEST_F(AlertReach, IsNotByValuesWhereExistenceAloneCounts) {
    EXPECT_FALSE(reaches("count(DCGM_FI_DEV_GPU_TEMP) < 16", "thermal_throttle"));
    EXPECT_TRUE(reaches("count(DCGM_FI_DEV_GPU_TEMP > 80) > 3", "thermal_throttle"));
    EXPECT_TRUE(reaches("sum(DCGM_FI_DEV_GPU_TEMP) > 3", "thermal_throttle"));
    EXPECT_TRUE(reaches("count(topk(3, DCGM_FI_DEV_GPU_TEMP)) > 3", "thermal_throttle"));
    EXPECT_FALSE(reaches("count(rate(DCGM_FI_DEV_GPU_TEMP[5m])) < 16", "thermal_throttle"));
    EXPECT_FALSE(reaches("absent(DCGM_FI_DEV_GPU_TEMP)", "thermal_throttle"));
    EXPECT_FALSE(reaches("up == 1 unless on (Hostname) DCGM_FI_DEV_GPU_TEMP", "thermal_throttle"));
    EXPECT_FALSE(reaches("DCGM_FI_DEV_GPU_TEMP and on () up", "thermal_throttle"));
    EXPECT_TRUE(reaches("DCGM_FI_DEV_GPU_TEMP and on () up", "thermal_throttle", {{"t", "{{ $value }}"}}));
    for (const char* expr : {"count(DCGM_FI_DEV_GPU_TEMP) < 16", "absent(DCGM_FI_DEV_GPU_TEMP{gpu=\"3\"})"})
        EXPECT_TRUE(reaches(expr, "gpu_off_bus")) << expr;
}

TEST_F(AlertReach, GoesThroughRecordingRules) {
    const std::vector<Rule> rules = {
        {.is_alert = false, .name = "hot:count", .expr = "count(DCGM_FI_DEV_GPU_TEMP > 80)"},
        {.is_alert = false, .name = "shown:count", .expr = "count(DCGM_FI_DEV_GPU_TEMP)"},
        {.is_alert = false, .name = "again", .expr = "shown:count + 0"},
        {.name = "Hot", .expr = "hot:count > 0"},
        {.name = "Few", .expr = "again < 16"},
        {.name = "NoneShown", .expr = "absent(hot:count)"}};
    EXPECT_EQ(reach(rules, "thermal_throttle").rules,
              (std::vector<bool>{true, false, false, true, false, true}));
    EXPECT_EQ(reach(rules, "gpu_off_bus").rules, (std::vector<bool>(6, true)));
}

TEST_F(AlertReach, TellsWhichMetricsMatterWhereEachIsToldByItself) {
    const std::vector<Rule> rules = {
        {.name = "Many", .expr = "topk(3, count by (__name__) ({__name__=~\".+\"})) > 10000"},
        {.name = "Sum", .expr = "count({__name__=~\".+\"}) > 10000"}};
    const Reach lost = reach(rules, "gpu_off_bus");
    EXPECT_EQ(lost.rules, (std::vector<bool>{true, true}));
    ASSERT_TRUE(lost.only.empty()) << "the three largest depend on each other";
    const std::vector<Rule> each = {
        {.name = "Many", .expr = "count by (__name__) ({__name__=~\".+\"}) > 100"}};
    const Reach known = reach(each, "gpu_off_bus");
    ASSERT_TRUE(known.only.contains(0));
    EXPECT_TRUE(known.only.at(0).contains("DCGM_FI_DEV_GPU_TEMP"));
    EXPECT_FALSE(known.only.at(0).contains("node_load1"));
    EXPECT_FALSE(reach(each, "thermal_throttle").rules[0]) << "no series comes or goes";
}

// An alert that no failure changes must stay in the files, where a rule about its state is played again.
TEST_F(AlertReach, KeepsWhatARuleAboutStatesReads) {
    const auto tool = external::Promtool::find();
    if (!tool) GTEST_SKIP() << "promtool is not installed";
    const std::vector<RuleFile> files = {read_rules(rule_file("readers.yml"), scratch()).value()};
    const auto& rules = files[0].rules;
    const auto analysis = analyse(rules, emitted_, site_.world);
    PromtoolPlayer knowing(*tool, {scratch(), "", false}), fresh(*tool, {scratch(), "", false});
    ASSERT_TRUE(knowing.play(site_.world, exporters::healthy_run(), files, rules, analysis));
    const auto a = fresh.play(site_.world, site_.incident("node_down"), files, rules, analysis),
               b = knowing.play(site_.world, site_.incident("node_down"), files, rules, analysis);
    ASSERT_TRUE(a && b);
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const std::string& name = rules[i].name;
        EXPECT_EQ(a->activity[i].size(), b->activity[i].size()) << name;
        if (name.starts_with("Down")) {
            EXPECT_EQ(b->activity[i].empty(), name == "DownUnwatched") << "the watchdog rings all the time";
        }
    }
}

}  // namespace
}  // namespace deadrank::results::alerts::testing
