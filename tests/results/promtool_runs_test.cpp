// tests/results/promtool_runs_test.cpp — Goal: an alert is asked again for a failure whenever its input may
// differ, each run of promtool has the past that its alerts need, and files keep their own names.
#include <algorithm>
#include <cmath>

#include "results/alerts/file_groups.h"
#include "results/alerts/promtool_runs.h"
#include "tests/results/alerts_site.h"

namespace deadrank::results::alerts::testing {
namespace {

class AlertParts : public ::testing::Test {
protected:
    StaticAnalysis analysis_of(const std::vector<Rule>& rules) const { return analyse(rules, emitted_); }
    bool reaches(const std::string& expr, const std::string& fault) const {
        const std::vector<Rule> rules = {{.name = "A", .expr = expr}};
        return reached_by(exporters::touched(site_.world, site_.incident(fault)), rules,
                          analysis_of(rules))[0];
    }
    std::vector<Part> parts(const std::vector<Rule>& rules) const {
        return parts_of(std::vector<bool>(rules.size(), true), rules, analysis_of(rules), site_.world.window,
                        3600);
    }

    Site site_;
    const Emitted emitted_{site_.world, site_.signatures};
};

TEST_F(AlertParts, AskWhatMentionsASeriesThatChanges) {
    EXPECT_TRUE(reaches("DCGM_FI_DEV_GPU_TEMP > 85", "thermal_throttle"));
    EXPECT_TRUE(reaches("absent(DCGM_FI_DEV_GPU_TEMP{gpu=\"3\"})", "gpu_off_bus"));
    EXPECT_TRUE(reaches("count({__name__=~\"DCGM.*\"}) < 3", "thermal_throttle"));
    EXPECT_TRUE(reaches("{\"__name__\"=\"x\"} > 1 or ALERTS", "thermal_throttle"));
    EXPECT_FALSE(reaches("node_load1 > 85", "thermal_throttle"));
    EXPECT_FALSE(reaches("vector(1)", "thermal_throttle"));
    const std::vector<Rule> rules = {
        {.is_alert = false, .name = "hot:count", .expr = "count(DCGM_FI_DEV_GPU_TEMP > 80)"},
        {.is_alert = false, .name = "again", .expr = "hot:count + 0"},
        {.name = "Hot", .expr = "again > 0"}};
    EXPECT_TRUE(reached_by(exporters::touched(site_.world, site_.incident("thermal_throttle")), rules,
                           analysis_of(rules))[2]);
}

TEST_F(AlertParts, HaveThePastThatTheirAlertsNeed) {
    const std::vector<Rule> rules = {{.name = "Now", .expr = "node_load1 > 1"},
                                     {.name = "Hold", .expr = "node_load1 > 1", .hold = 3600},
                                     {.name = "Day", .expr = "node_load1 offset 1d > 1"},
                                     {.name = "Week", .expr = "avg_over_time(node_load1[7d]) > 1"},
                                     {.name = "Slow", .expr = "node_load1 > 1", .interval = 300},
                                     {.name = "States", .expr = "ALERTS > 0"}};
    const auto all = parts(rules);
    const auto with = [&](std::size_t rule) {
        return *std::find_if(all.begin(), all.end(), [&](const Part& one) { return one.asked[rule]; });
    };
    EXPECT_EQ(with(0).history, 300);
    EXPECT_EQ(with(1).history, 3900);
    EXPECT_GE(with(2).history, 86400);
    EXPECT_EQ(with(2).sparse, 0);
    EXPECT_GE(with(3).history, 7 * 86400);
    EXPECT_EQ(with(3).sparse, 240) << "promtool holds 10,000 samples in a query";
    EXPECT_LE((with(3).history + 2700) / with(3).eval, 6100);
    EXPECT_EQ(with(4).eval, 300);
    EXPECT_TRUE(with(5).whole);
    for (const Part& one : all) {
        EXPECT_EQ(std::fmod(one.history, one.eval), 0) << "the run begins at an evaluation";
    }
}

// promtool holds no series that no selector matches.
TEST_F(AlertParts, GiveOnlyTheSeriesThatASelectorMatches) {
    const auto count = [&](const std::string& expr) {
        const std::vector<Rule> rules = {{.name = "A", .expr = expr}};
        return series_of(parts(rules)[0], site_.world, exporters::healthy_run(), rules, analysis_of(rules))
            .size();
    };
    const std::size_t all = count("node_cpu_seconds_total > 1"),
                      idle = count("node_cpu_seconds_total{mode=\"idle\"} > 1");
    EXPECT_EQ(all, 8 * idle);
    EXPECT_EQ(count("node_cpu_seconds_total{mode=~\"idle|user\"} > 1"), 2 * idle);
    EXPECT_EQ(count("node_cpu_seconds_total{mode=\"idle\"} > 1 or node_cpu_seconds_total > 2"), all);
    EXPECT_EQ(count("sum({__name__=\"node_cpu_seconds_total\", mode=\"idle\"}) > 1"), idle);
    EXPECT_GT(count("count({__name__=~\"node_cpu.*\"}) > 1"), all) << "it may read any series";
}

// A rule over a day gives the other series of its expression no day.
TEST_F(AlertParts, GiveEachSeriesThePastInWhichItIsRead) {
    const std::vector<Rule> rules = {
        {.name = "A",
         .expr =
             "rate(node_context_switches_total[1d]) / on (instance) count by (instance) (node_load1) > 9"}};
    const auto all = parts(rules);
    ASSERT_EQ(all.size(), 1u);
    const auto series = series_of(all[0], site_.world, exporters::healthy_run(), rules, analysis_of(rules));
    ASSERT_EQ(series.size(), 8u);
    for (const exporters::Series& one : series) {
        const auto first = std::find_if(one.values.begin(), one.values.end(),
                                        [](double value) { return !exporters::is_absent(value); });
        const double past = all[0].history - 15.0 * static_cast<double>(first - one.values.begin());
        EXPECT_EQ(one.values.size(), static_cast<std::size_t>((all[0].history + 2700) / 15) + 1);
        EXPECT_EQ(past, one.name == "node_load1" ? 600 : all[0].history) << one.name;
    }
}

// Of files that no time was left for nothing is said: not that they can fire, nor that they are silent.
TEST_F(AlertParts, ThatWereNotPlayedAreNotJudged) {
    const auto part = [&](const std::string& alert) {
        Study study;
        study.world = site_.world;
        study.rules = {{.name = alert, .expr = "up == 0", .file = alert + ".yml"}};
        study.analysis = analyse(study.rules, Emitted(site_.world, site_.signatures));
        return study;
    };
    Study whole = part("Played"), late = part("Late");
    whole.healthy.resize(1);
    whole.rows.push_back({.incident = site_.incident("disk_full"), .cells = {Cell{}}});
    late.complete = false;
    append(whole, std::move(late));
    EXPECT_FALSE(whole.complete);
    ASSERT_EQ(whole.rows[0].cells.size(), 2u);
    EXPECT_EQ(whole.rows[0].cells[1].verdict, AlertVerdict::unjudged);
    const std::string text = text_report(whole, {}, {}, {}, {.explain = false, .all = true});
    EXPECT_NE(text.find("of 2 alerts 1 can fire here"), std::string::npos) << text;
    EXPECT_NE(text.find(", 1 were not judged"), std::string::npos) << text;
    const std::string junit = junit_report(whole, {}, {});
    const auto skips = [&](const std::string& name) {
        const std::size_t at = junit.find("name=\"" + name);
        EXPECT_NE(at, std::string::npos) << junit;
        return junit.substr(at, junit.find("<testcase", at) - at).find("no time left") != std::string::npos;
    };
    EXPECT_TRUE(skips("Late is judged"));
    EXPECT_TRUE(skips("Late raises no false alarm"));
    EXPECT_FALSE(skips("Played is judged"));
    Study unasked = part("First");  // without a promtool
    append(unasked, part("Second"));
    EXPECT_NE(junit_report(unasked, {}, {}).find("nobody to judge"), std::string::npos);
}

TEST_F(AlertParts, GroupFilesThatDoNotContradictEachOther) {
    const auto file = [](std::vector<Rule> rules) { return RuleFile{.rules = std::move(rules)}; };
    const std::vector<RuleFile> files = {
        file({{.name = "A", .expr = "up{job=\"node\"} == 0"}}),
        file({{.name = "B", .expr = "up{job=\"node-exporter\"} == 0"}}),
        file({{.name = "C", .expr = "a:b > 1"}}),
        file({{.is_alert = false, .name = "a:b", .expr = "node_load1{job=\"node-exporter\"}"}}),
        file({{.name = "D", .expr = "node_load1 > 1"}})};
    const auto groups = groups_of_files(files, site_.world, true);
    EXPECT_EQ(groups, (std::vector<std::vector<std::size_t>>{{0, 4}, {1, 2, 3}}));
}

}  // namespace
}  // namespace deadrank::results::alerts::testing
