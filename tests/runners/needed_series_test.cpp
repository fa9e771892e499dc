// tests/runners/needed_series_test.cpp — Goal: how far back a server must look, and which rules it plays
// together, is read off the rules and not off letters in them.
#include "runners/serve/needed_series.h"

#include <limits>

#include "tests/results/alerts_site.h"

namespace deadrank::runners::serve {
namespace {

using results::alerts::Rule;
using results::alerts::testing::Site;

TEST(NeededSeries, TakesNoNameAndNoTextForALookAhead) {
    const auto looks_back = [](const std::string& expr) {
        return reads_only_the_past({{.name = "A", .expr = expr}});
    };
    EXPECT_TRUE(looks_back("node_timex_offset_seconds < -0.05"));
    EXPECT_TRUE(looks_back("rate(a[5m] offset 1h) - rate(a[5m]) > 1"));
    EXPECT_TRUE(looks_back("a{mail=~\"x@y\"} > 1"));
    EXPECT_FALSE(looks_back("a offset -5m > 1"));
    EXPECT_FALSE(looks_back("a @ end() > 1"));
}

TEST(NeededSeries, KnowsWhichRulesTellTheDate) {
    EXPECT_TRUE(uses_current_date("a > 1 and on () day_of_month() == 1"));
    EXPECT_TRUE(uses_current_date("a @ 300"));
    EXPECT_FALSE(uses_current_date("time() - a > 5 and on () hour() == 1"))
        << "weeks later these are the same";
    EXPECT_FALSE(uses_current_date("a{month=\"may\"} > 1")) << "a label";
    const double hour = 3600;
    EXPECT_TRUE(may_be_followed({.name = "A", .expr = "a > 1", .hold = 7 * 86400}, hour));
    EXPECT_FALSE(may_be_followed({.name = "A", .expr = "a > 1", .hold = 60, .keep_firing = 2 * hour}, hour));
    EXPECT_FALSE(may_be_followed({.name = "A", .expr = "hour() > 1", .hold = 2 * hour}, hour));
}

TEST(NeededSeries, PartsRulesAboutAlertsByTheSideOnWhichTheyStand) {
    const std::string hot = "count(ALERTS{alertname=\"Hot\"})", cold = "count(ALERTS{alertname=\"Cold\"})";
    const std::vector<Rule> rules = {{.name = "Before", .expr = hot},
                                     {.name = "Hot", .expr = "DCGM_FI_DEV_GPU_TEMP > 85"},
                                     {.name = "After", .expr = hot},
                                     {.name = "Cold", .expr = "DCGM_FI_DEV_GPU_TEMP < 40"},
                                     {.name = "OfOther", .expr = cold}};
    Site site;
    const auto analysis =
        results::alerts::analyse(rules, results::alerts::Emitted(site.world, site.signatures), site.world);
    const auto parts = by_side({true, false, true, false, true}, rules, analysis);
    ASSERT_EQ(parts.size(), 2u);
    EXPECT_EQ(parts[0], (std::vector<bool>{true, false, false, false, true}));
    EXPECT_EQ(parts[1], (std::vector<bool>{false, false, true, false, false}));
    for (const std::size_t reader : {0, 2, 4}) EXPECT_FALSE(needs_promtool(reader, rules, analysis, 0));
}

TEST(NeededSeries, BeginsNoEarlierThanTheRulesLookBackFromTheFailure) {
    const std::vector<Rule> rules = {
        {.name = "A", .expr = "rate(node_cpu_seconds_total[2m]) > 1", .hold = 86400}};
    Site site;
    const auto analysis =
        results::alerts::analyse(rules, results::alerts::Emitted(site.world, site.signatures), site.world);
    const auto& window = site.world.window;
    EXPECT_EQ(history_from(rules, analysis, window, {true}, 0, 900), 0);
    EXPECT_GE(history_from(rules, analysis, window, {true}, std::numeric_limits<double>::infinity(), 0),
              86400);
    // Two minutes of range, five in which the last sample counts, and two evaluations.
    EXPECT_EQ(first_needed(rules, analysis, window, {true}, 900), (900 - 120 - 300 - 30) / 15u);
}

}  // namespace
}  // namespace deadrank::runners::serve
