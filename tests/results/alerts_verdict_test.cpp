// tests/results/alerts_verdict_test.cpp — Goal: every word of the verdict vocabulary is said when it is true,
// from intervals alone; a latency is a range; an alert that the healthy run has too says nothing about the
// failure.
#include <pugixml.hpp>

#include "results/alerts/report.h"
#include "results/alerts/report_text.h"
#include "tests/results/alerts_site.h"

namespace deadrank::results::alerts::testing {
namespace {

using LabelSet = std::map<std::string, std::string>;

class AlertVerdicts : public ::testing::Test {
protected:
    // The failure strikes GPU 3 of node 2 at 15 min and is repaired at 30; the run ends at 45.
    Cell judged(const std::string& fault, std::vector<Instance> failing, std::vector<Instance> healthy = {}) {
        const exporters::Incident incident = site_.incident(fault);
        const HealthyRow row = judge_healthy(rule_, reads_, healthy, site_.world.window);
        return judge_cell({&rule_, &reads_, &healthy, &failing, &usual_curves_, &curves_, &usual_far_, &far_},
                          row, incident, site_.world, exporters::touched(site_.world, incident));
    }
    Instance firing(const LabelSet& labels, double begin, double end = -1) {
        return {labels, {}, {{begin, end}}};
    }

    const LabelSet there_ = {{"instance", "gpu-node-002:9400"}, {"gpu", "3"}};
    const LabelSet elsewhere_ = {{"instance", "gpu-node-000:9400"}, {"gpu", "3"}};
    Site site_;
    Rule rule_{.name = "A", .expr = "DCGM_FI_DEV_GPU_TEMP > 85", .hold = 60};
    RuleReads reads_{.reads = scan(rule_.expr), .metrics = {"DCGM_FI_DEV_GPU_TEMP"}};
    Curves usual_curves_, curves_, usual_far_, far_;
};

TEST_F(AlertVerdicts, CaughtIsARangeAndNamesThePlace) {
    const Cell cell = judged("thermal_throttle", {firing(there_, 1155, 1900)});
    EXPECT_EQ(cell.verdict, AlertVerdict::caught);
    EXPECT_EQ(cell.latency_low, 255);
    EXPECT_EQ(cell.latency_high, 285);
    EXPECT_EQ(cell.place, Locality::exact);
    EXPECT_EQ(judged("thermal_throttle", {firing({{"job", "x"}}, 1155, 1900)}).place, Locality::nowhere);
    EXPECT_EQ(judged("thermal_throttle", {firing({{"instance", "gpu-node-002:9400"}}, 1155, 1900)}).place,
              Locality::node);
}

// Instances and quoted series come in whatever order Prometheus has them.
TEST_F(AlertVerdicts, DependOnNoOrderOfAJudge) {
    std::vector<Instance> there;
    for (int gpu = 0; gpu < 100; ++gpu)
        there.push_back(
            firing({{"instance", "gpu-node-002:9400"}, {"gpu", std::to_string(gpu)}}, 1155, 1900));
    const Cell forward = judged("thermal_throttle", there);
    std::reverse(there.begin(), there.end());
    EXPECT_EQ(forward.fired, judged("thermal_throttle", there).fired);
    EXPECT_EQ(forward.fired.size(), 64u);
    const std::string words =
        "found duplicate series for the match group {instance=\"a:1\"} on the right "
        "hand-side of the operation: [{gpu=\"[2]\"}, {gpu=\"0\"}];many-to-many matching";
    EXPECT_EQ(without_examples(words),
              "found duplicate series for the match group {instance=…} on the right "
              "hand-side of the operation;many-to-many matching");
    EXPECT_EQ(without_examples("vector cannot contain [it"), "vector cannot contain [it");
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

// Pending since before the failure: the ring 45 s after it is faster than `for` allows, so it is no answer to
// it. Only what held for all of `for` since the failure is.
TEST_F(AlertVerdicts, WhatWasPendingBeforeTheFailureIsNotCaughtFasterThanItsFor) {
    rule_.hold = 120;
    EXPECT_FALSE(judged("nccl_hang", {{there_, {{825, 945}}, {{945, 1000}}}}).noticed());
    const Cell cell = judged("nccl_hang", {{there_, {{825, 945}}, {{945, 1800}}}});
    EXPECT_EQ(cell.verdict, AlertVerdict::caught);
    EXPECT_EQ(cell.latency_low, 120);
}

TEST_F(AlertVerdicts, AnAlertThatRingsAllTheTimeCatchesNothing) {
    rule_.hold = 120;
    std::vector<Instance> healthy;
    for (int i = 0; i < 107; ++i) {
        const double begin = 15.0 * (i + 10);
        healthy.push_back(
            firing({{"instance", "gpu-node-001:9400"}, {"gpu", std::to_string(i)}}, begin, begin + 15));
    }
    std::vector<Instance> failing = healthy;
    failing.push_back({there_, {{825, 945}}, {{945, 1800}}});
    failing.push_back({{{"instance", "gpu-node-002:9400"}, {"gpu", "2"}}, {{915, 1035}}, {{1035, 1800}}});
    const Cell cell = judged("nccl_hang", failing, healthy);
    EXPECT_EQ(cell.verdict, AlertVerdict::false_alarm) << cell.says;
    EXPECT_FALSE(cell.in_time(600)) << "no policy is met by it";
    // One that rang a single time in the healthy three quarters of an hour is believed a quick ring.
    healthy.resize(1);
    EXPECT_TRUE(judged("nccl_hang", {{there_, {}, {{915, 1800}}}}, healthy).noticed());
}

TEST_F(AlertVerdicts, AFirstRingAfterTheRepairIsNotLate) {
    Cell cell = judged("thermal_throttle", {{there_, {{1905, 1965}}, {{1965, 2100}}}});
    EXPECT_EQ(cell.verdict, AlertVerdict::after_repair) << cell.says;
    EXPECT_FALSE(cell.noticed());
    // It saw the failure, and its `for` ended only after the repair.
    rule_.hold = 600;
    cell = judged("thermal_throttle", {{there_, {{1500, 2100}}, {{2100, 2200}}}});
    EXPECT_EQ(cell.verdict, AlertVerdict::pending_only) << cell.says;
    EXPECT_EQ(cell.needed, 300);
    // As the job loads again its metrics leap at the very moment of the repair.
    rule_.hold = 0;
    EXPECT_EQ(judged("thermal_throttle", {firing(there_, 1800, 2100)}).verdict, AlertVerdict::after_repair);
}

TEST_F(AlertVerdicts, APolicyIsMetOnlyByWhatTheFailureMade) {
    Study study;
    study.world = site_.world;
    study.rules = {rule_};
    study.healthy.resize(1);
    study.rows.push_back({.incident = site_.incident("thermal_throttle")});
    Policy policy{
        .file = "policy.toml", .musts = {{.fault = "thermal_throttle", .within = 3600}}, .given = true};
    study.rows[0].cells = {judged("thermal_throttle", {{there_, {{1905, 1965}}, {{1965, 2100}}}})};
    EXPECT_EQ(breaches(study, policy).size(), 1u);
    study.rows[0].cells = {judged("thermal_throttle", {firing(there_, 1155, 1900)})};
    EXPECT_TRUE(breaches(study, policy).empty());
}

// "Some alert" is not "an alert that pages": a policy may ask for a severity, and for alerts by glob.
TEST_F(AlertVerdicts, APolicyMayAskForASeverityAndForAlertsByGlob) {
    Study study;
    study.world = site_.world;
    rule_.name = "GpuHotWarning";
    rule_.labels["severity"] = "warning";
    study.rules = {rule_};
    study.healthy.resize(1);
    study.rows.push_back({.incident = site_.incident("thermal_throttle")});
    study.rows[0].cells = {judged("thermal_throttle", {firing(there_, 1155, 1900)})};
    const auto broken = [&](Must must) {
        must.fault = "thermal_*";
        return breaches(study, {.file = "p.toml", .musts = {must}, .given = true});
    };
    EXPECT_TRUE(broken({}).empty());
    EXPECT_TRUE(broken({.severities = {"warn*"}}).empty());
    ASSERT_EQ(broken({.severities = {"critical", "page"}}).size(), 1u);
    EXPECT_NE(broken({.severities = {"critical"}})[0].says.find("'warning'"), std::string::npos);
    EXPECT_TRUE(broken({.alerts = {"Gpu*Warning"}}).empty());
    EXPECT_EQ(broken({.alerts = {"Gpu*Critical"}}).size(), 1u);
    // What was demanded and not judged is neither met nor broken.
    study.rows[0].cells.clear();
    study.rows[0].trouble = "no time";
    const Policy policy{.file = "p.toml", .musts = {{.fault = "thermal_*"}}, .given = true};
    EXPECT_TRUE(breaches(study, policy).empty());
    EXPECT_EQ(undecided(study, policy).size(), 1u);
}

TEST_F(AlertVerdicts, FalseAlarmsAreInSarifAndAPolicyMayLimitThemToSeverities) {
    Study study;
    study.world = site_.world;
    rule_.name = "Nervous";
    rule_.file = "mine.yml";
    rule_.line = 7;
    rule_.labels["severity"] = "info";
    study.rules = {rule_};
    study.healthy = {{AlertVerdict::false_alarm, "fires on a healthy cluster", 3}};
    const std::string sarif = sarif_report(study);
    EXPECT_NE(sarif.find("\"false-alarm\""), std::string::npos);
    EXPECT_NE(sarif.find("\"startLine\": 7"), std::string::npos) << sarif;
    EXPECT_EQ(breaches(study, {.given = true}).size(), 1u);
    EXPECT_TRUE(breaches(study, {.severities = {"critical"}, .given = true}).empty());
    EXPECT_TRUE(breaches(study, {.allowed = {"Nerv*"}, .given = true}).empty());
}

TEST_F(AlertVerdicts, MissedReadsWhatMovesAndUnconcernedDoesNot) {
    EXPECT_EQ(judged("thermal_throttle", {}).verdict, AlertVerdict::missed);
    EXPECT_EQ(judged("ib_port_flap", {}).verdict, AlertVerdict::unconcerned);
}

// A rule that names other series of the metric has missed nothing; one for more heat than there was has, by
// so much.
TEST_F(AlertVerdicts, MissedIsByHowMuch) {
    const auto silent = [&](Comparison op, double limit, double before, double after) {
        reads_.thresholds = {{"DCGM_FI_DEV_GPU_TEMP", op, std::to_string(limit), true}};
        usual_curves_[{0, 0}] = {{600, before}, {1200, before}};
        curves_[{0, 0}] = {{600, before}, {1200, after}};
        return judged("thermal_throttle", {});
    };
    const Cell miss = silent(Comparison::above, 95, 52, 91.25);
    EXPECT_EQ(miss.verdict, AlertVerdict::missed);
    EXPECT_NE(miss.says.find("peaked at 91.25"), std::string::npos) << miss.says;
    ASSERT_EQ(miss.near.size(), 1u);
    EXPECT_EQ(miss.near[0].value, 91.25);
    reads_.reads = scan("DCGM_FI_DEV_GPU_TEMP{gpu=\"0\"} > 95");
    EXPECT_EQ(silent(Comparison::above, 95, 52, 52).verdict, AlertVerdict::unconcerned);
    EXPECT_EQ(silent(Comparison::above, 95, 52, 91).verdict, AlertVerdict::missed);
    reads_.reads = scan(rule_.expr);
    EXPECT_EQ(silent(Comparison::above, 95, 52, 52).verdict, AlertVerdict::missed)
        << "it reads what moved, and sees nothing";
    const Cell low = silent(Comparison::below, 10, 52, 20);
    EXPECT_EQ(low.verdict, AlertVerdict::missed);
    EXPECT_NE(low.says.find("fell no lower than 20"), std::string::npos) << low.says;
    // Of `==` the distance is measured.
    reads_.thresholds = {{"DCGM_FI_DEV_GPU_TEMP", Comparison::equal, "7", true}};
    usual_curves_[{0, 0}] = {{600, 45}, {1200, 45}};
    curves_[{0, 0}] = {{600, 45}, {1200, 29}};
    EXPECT_NE(judged("thermal_throttle", {}).says.find("came no nearer than 29 to 7"), std::string::npos)
        << judged("thermal_throttle", {}).says;
    // What the repair does is not the failure's.
    curves_[{0, 0}] = {{600, 52}, {1900, 5}};
    EXPECT_EQ(judged("thermal_throttle", {}).verdict, AlertVerdict::missed) << "nothing was measured";
}

// In a hang temperatures fall from 49…54 to 36: a rule for heat watches for another failure. Utilisation
// stays within what it is on a healthy cluster: a rule for idle GPUs reads it, and sees nothing.
TEST_F(AlertVerdicts, WhatMovesAwayFromAThresholdIsNoMissAndWhatStaysIs) {
    const auto hung = [&](const std::string& expr, double near, double far, double near_now, double far_now) {
        reads_.reads = scan(expr);
        reads_.metrics = {reads_.reads.selectors[0].metric};
        reads_.thresholds = thresholds_of(expr);
        usual_curves_[{0, 0}] = {{600, near}, {1200, near}};
        usual_far_[{0, 0}] = {{600, far}, {1200, far}};
        curves_[{0, 0}] = {{600, near}, {1200, near_now}};
        far_[{0, 0}] = {{600, far}, {1200, far_now}};
        return judged("nccl_hang", {});
    };
    const Cell hot = hung("DCGM_FI_DEV_GPU_TEMP > 85", 54, 49, 36, 36);
    EXPECT_EQ(hot.verdict, AlertVerdict::unconcerned) << hot.says;
    EXPECT_NE(hot.says.find("away from its threshold"), std::string::npos) << hot.says;
    EXPECT_EQ(hung("DCGM_FI_DEV_GPU_UTIL < 10", 94, 101, 100, 100).verdict, AlertVerdict::missed);
    EXPECT_EQ(hung("DCGM_FI_DEV_GPU_TEMP < 30", 49, 54, 36, 36).verdict, AlertVerdict::missed)
        << "nearer, and not near enough";
    EXPECT_EQ(hung("DCGM_FI_DEV_GPU_TEMP > 85", 54, 49, 60, 36).verdict, AlertVerdict::missed)
        << "some away, and some nearer";
}

// A rule that counts, or asks what is absent, is concerned with what ends, not with values.
TEST_F(AlertVerdicts, RulesThatCountAreConcernedWithWhatEnds) {
    const auto counted = [&](const std::string& expr, const std::string& fault) {
        reads_.reads = scan(expr);
        reads_.metrics = {reads_.reads.selectors[0].metric};
        reads_.thresholds = thresholds_of(expr);
        for (Curves* curves : {&usual_curves_, &curves_, &usual_far_, &far_})
            (*curves)[{0, 0}] = {{600, 4}, {1200, 4}};
        return judged(fault, {}).verdict;
    };
    const std::string by_host = "count by (Hostname) (DCGM_FI_DEV_GPU_TEMP) < 4";
    EXPECT_EQ(counted(by_host, "node_down"), AlertVerdict::missed);
    EXPECT_EQ(counted(by_host, "nccl_hang"), AlertVerdict::unconcerned);
    EXPECT_EQ(counted("absent(DCGM_FI_DEV_GPU_TEMP)", "node_down"), AlertVerdict::missed);
    EXPECT_EQ(counted("absent(DCGM_FI_DEV_GPU_TEMP)", "nccl_hang"), AlertVerdict::unconcerned);
    EXPECT_EQ(counted("absent(up{job=\"node-exporter\"})", "node_down"), AlertVerdict::missed)
        << "up is 0, and not absent";
    EXPECT_EQ(counted("absent(up{job=\"node-exporter\"})", "exporter_down"), AlertVerdict::unconcerned)
        << "another job's targets";
    EXPECT_EQ(counted("DCGM_FI_DEV_GPU_TEMP > 85", "exporter_down"), AlertVerdict::unconcerned);
}

// The range of a rate holds one more sample in a unit test than on a server.
TEST_F(AlertVerdicts, ARangeOfLessThanTwoScrapesCatchesNothing) {
    reads_.dead_kind = DeadKind::range_too_short;
    const Cell cell = judged("thermal_throttle", {firing(there_, 1155, 1900)});
    EXPECT_EQ(cell.verdict, AlertVerdict::dead);
    EXPECT_FALSE(cell.noticed());
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
    reads_.why_dead = "nothing emits it";
    for (const auto& [kind, verdict] : {std::pair{DeadKind::misspelled, AlertVerdict::dead},
                                        {DeadKind::your_names, AlertVerdict::your_names},
                                        {DeadKind::nobody, AlertVerdict::not_simulated}}) {
        reads_.dead_kind = kind;
        EXPECT_EQ(judged("thermal_throttle", {}).verdict, verdict);
    }
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

// A failure that concerns no alert had a row with its name and nothing behind it.
// An alert that misses what is not simulated here rings for that, and says nothing about the cluster.
TEST_F(AlertVerdicts, WhatIsNotSimulatedIsNoBackground) {
    const Instance always = firing({{"job", "jobset"}}, 0);
    EXPECT_EQ(judged("thermal_throttle", {always}, {always}).verdict, AlertVerdict::background);
    reads_.unseen = {DeadKind::not_simulated, "nothing in this run is called up{job=\"jobset\"}", "", false};
    const Cell beside = judged("thermal_throttle", {always}, {always});
    EXPECT_EQ(beside.verdict, AlertVerdict::background) << "it reads other series too";
    EXPECT_NE(beside.says.find("nothing in this run is called"), std::string::npos) << beside.says;
    reads_.unseen.all = true;
    const Cell alone = judged("thermal_throttle", {always}, {always});
    EXPECT_EQ(alone.verdict, AlertVerdict::not_simulated);
    EXPECT_EQ(alone.says, "rings because nothing in this run is called up{job=\"jobset\"}");
    EXPECT_EQ(judged("thermal_throttle", {}, {}).verdict, AlertVerdict::missed) << "where it does not ring";
}

// A study with one of each: two alerts of one name of which one is noisy, alerts that cannot fire or are not
// simulated, failures that are caught, missed, late and not judged, a cell that is not judged, and one that
// does not clear.
class AlertReports : public ::testing::Test {
protected:
    AlertReports() {
        const auto rule = [&](const std::string& name, int line) {
            study_.rules.push_back({.name = name, .expr = "up == 0", .file = "mine.yml", .line = line});
            study_.analysis.rules.emplace_back();
            study_.healthy.emplace_back();
        };
        rule("Same", 3);
        rule("Same", 6);
        rule("Misspelt", 9);
        rule("Foreign", 12);
        rule("Good", 15);
        study_.healthy[1] = {AlertVerdict::false_alarm, "fires on a healthy cluster, 3 times", 3};
        study_.analysis.rules[2].dead_kind = DeadKind::misspelled;
        study_.analysis.rules[2].why_dead = "no such metric";
        study_.analysis.rules[3].dead_kind = DeadKind::not_simulated;
        study_.analysis.rules[3].why_dead = "another exporter has it";
        for (const char* id : {"caught_one", "missed_one", "late_one", "open_one"}) {
            Row row;
            row.incident.id = id;
            row.incident.within = 300;
            row.cells.resize(study_.rules.size());
            study_.rows.push_back(row);
        }
        study_.rows[0].cells[4] = {.verdict = AlertVerdict::sticky, .latency_low = 60, .says = "still fires"};
        study_.rows[0].best = 4;
        study_.rows[1].cells[4] = {.verdict = AlertVerdict::missed, .says = "peaked at 4"};
        study_.rows[1].cells[0] = {.verdict = AlertVerdict::unjudged, .says = "many-to-many matching"};
        study_.rows[2].cells[4] = {.verdict = AlertVerdict::late, .latency_low = 900, .says = "fired late"};
        study_.rows[2].best = 4;
        study_.rows[3].cells.clear();
        study_.rows[3].trouble = "there was no time left for it";
    }

    struct Case {
        std::string name, failure, skip, output;
    };
    std::vector<Case> cases(const Policy& policy) const {
        pugi::xml_document document;
        EXPECT_TRUE(document.load_string(junit_report(study_, policy, breaches(study_, policy)).c_str()));
        std::vector<Case> all;
        for (const auto& one : document.select_nodes("//testcase")) {
            const pugi::xml_node node = one.node();
            all.push_back({node.attribute("name").value(), node.child("failure").attribute("message").value(),
                           node.child("skipped").attribute("message").value(),
                           node.child("system-out").text().get()});
        }
        return all;
    }

    Study study_;
    const Policy strict_{.file = "p.toml",
                         .musts = {{.fault = "missed_*"}, {.fault = "late_one"}, {.fault = "never_played"}},
                         .forbid_dead = true,
                         .forbid_sticky = true,
                         .given = true};
};

TEST_F(AlertReports, AgreeOnConsoleAndInJunit) {
    for (const Policy& policy : {Policy{}, strict_}) {
        const auto found = breaches(study_, policy);
        std::string console = text_report(study_, policy, found, {}, {.explain = true, .all = true});
        for (char& c : console) c = c == '\n' ? ' ' : c;
        while (console.find("  ") != std::string::npos) console.erase(console.find("  "), 1);
        std::size_t failures = 0;
        std::set<std::string> names;
        for (const Case& one : cases(policy)) {
            EXPECT_TRUE(names.insert(one.name).second) << "two cases of one name: " << one.name;
            failures += !one.failure.empty();
            for (const std::string& words : {one.failure, one.skip})
                EXPECT_NE(console.find(words), std::string::npos) << one.name << ": " << words << "\n"
                                                                  << console;
        }
        EXPECT_EQ(failures, found.size()) << "each breach fails one case, and nothing else does";
        EXPECT_NE(console.find(found.size() == 1 ? "1 breach" : std::to_string(found.size()) + " breaches"),
                  std::string::npos)
            << console;
    }
    EXPECT_EQ(breaches(study_, strict_).size(), 6u) << "dead, noisy, sticky, missed, late, not played";
}

TEST_F(AlertReports, FailOfTwoAlertsOfOneNameTheNoisyOne) {
    for (const Case& one : cases({})) {
        if (!one.name.starts_with("Same (")) continue;
        EXPECT_EQ(!one.failure.empty(), one.name.starts_with("Same (line 6) raises")) << one.name;
    }
}

// Judged is never skipped, and what is not judged never passes.
TEST_F(AlertReports, SkipWhatWasNotJudgedAlone) {
    std::map<std::string, Case> named;
    for (const Case& one : cases({})) named[one.name] = one;
    for (const auto& [name, words] : {std::pair{"missed_one is judged", "missed"},
                                      {"late_one is judged", "caught late by Good"},
                                      {"caught_one is judged", "caught by Good"},
                                      {"Misspelt is judged", "can never fire: no such metric"}}) {
        ASSERT_TRUE(named.contains(name)) << name;
        EXPECT_EQ(named[name].skip, "") << name;
        EXPECT_EQ(named[name].output, words);
    }
    for (const auto& [name, words] :
         {std::pair{"open_one is judged", "there was no time left for it"},
          {"Foreign is judged", "another exporter has it"},
          {"Foreign raises no false alarm on a healthy cluster", "another exporter has it"},
          {"Same (line 3) under missed_one is judged", "many-to-many matching"}}) {
        ASSERT_TRUE(named.contains(name)) << name;
        EXPECT_EQ(named[name].skip, words) << name;
    }
}

// A failure that one alert caught still shows by how much the others missed it, and the list fits a screen.
TEST_F(AlertReports, ShowOfEachMissHowNearItCame) {
    for (const std::size_t rule : {0, 1, 2})
        study_.rows[0].cells[rule] = {
            .verdict = AlertVerdict::missed,
            .says = "peaked at 93, and the rule asks for > 11" + std::to_string(rule)};
    const std::string text = text_report(study_, {}, {}, {}, {});
    for (const char* limit : {"> 110", "> 111", "> 112"})
        EXPECT_NE(text.find(std::string("under caught_one: peaked at 93, and the rule asks for ") + limit),
                  std::string::npos)
            << text;
    for (int i = 0; i < 40; ++i) study_.rows.push_back(study_.rows[0]);
    const std::string many = text_report(study_, {}, {}, {}, {});
    EXPECT_NE(many.find("… and 115 more (--all shows them)"), std::string::npos) << many;
}

// The curve of an alert for `==` is its distance; an axis has room for six characters; a failure that does
// not concern an alert is not drawn beside it.
TEST_F(AlertReports, DrawTheCurveOfWhatWasCaughtOrMissedAlone) {
    const Threshold equal{"up", Comparison::equal, "0", true, "", "up == 0"},
        high{"DCGM_FI_DEV_FB_USED", Comparison::above, "1.95e12", true, "", ""};
    study_.analysis.rules[4].thresholds = {equal};
    study_.rows[0].played.curves[{4, 0}] = {{0, 1}, {1000, 0}, {2000, 1}};
    study_.rows[1].cells[0] = {.verdict = AlertVerdict::missed,
                               .says = "peaked at 3",
                               .near = {{"b", Comparison::above, "1.95e12", 1.2e12, 0}}};
    study_.analysis.rules[0].thresholds = {high};
    study_.rows[1].played.curves[{0, 0}] = {{0, 1e12}, {1000, 1.2e12}};
    study_.analysis.rules[1].thresholds = {high};
    study_.rows[2].cells[1] = {.verdict = AlertVerdict::unconcerned,
                               .says = "moves away",
                               .near = {{"b", Comparison::above, "1.95e12", 4, 0}}};
    study_.rows[2].played.curves[{1, 0}] = {{0, 1}, {1000, 4}};
    const std::string page = page_report(study_, {}, {});
    EXPECT_NE(page.find("up under caught_one"), std::string::npos) << page;
    EXPECT_NE(page.find("drawn: the distance to 0"), std::string::npos) << page;
    EXPECT_NE(page.find(">1.95T</text>"), std::string::npos) << page;
    EXPECT_EQ(page.find("moves away"), std::string::npos) << page;
    EXPECT_EQ(page.find("under late_one"), std::string::npos) << page;
}

// A page is kept and shown to others: it tells at its head what it lacks.
TEST(AlertPage, TellsThatItsRunWasStopped) {
    const Site site;
    Study study;
    study.world = site.world;
    study.rows.push_back({.incident = site.incident("disk_full")});
    study.rows.push_back(
        {.incident = site.incident("node_down"), .trouble = "there was no time left for it"});
    const std::string whole = page_report(study, {}, {});
    EXPECT_EQ(whole.find("incomplete"), std::string::npos);
    EXPECT_NE(whole.find("0 of 2 failures caught in time, 1 not judged"), std::string::npos) << whole;
    EXPECT_NE(whole.find("there was no time left for it: node_down"), std::string::npos) << whole;
    study.complete = false;
    study.notes.push_back("a note of the run");
    const std::string stopped = page_report(study, {}, {});
    EXPECT_NE(stopped.find("<b>incomplete</b> the run was stopped before its end, in the healthy run"),
              std::string::npos)
        << stopped;
    EXPECT_NE(stopped.find("a note of the run"), std::string::npos);
    EXPECT_NE(json_report(study, {}, {}).find("\"complete\": false"), std::string::npos);
}

TEST(AlertMatrix, HasNoRowsWithoutCells) {
    Study study;
    study.rules = {{.name = "A", .file = "mine.yml"}};
    study.rows.resize(2);
    study.rows[0].incident.id = "gpu_off_bus";
    study.rows[0].cells = {{.verdict = AlertVerdict::not_simulated}};
    study.rows[1].incident.id = "nccl_hang";
    study.rows[1].trouble = "no exporter of this run shows anything of it";
    EXPECT_EQ(matrix(study, {}),
              "nccl_hang             not judged: no exporter of this run shows anything of it\n"
              "no alert fires or misses anything under these failures\n");
    study.rows[0].cells[0].verdict = AlertVerdict::missed;
    EXPECT_NE(matrix(study, {}).find("gpu_off_bus           miss\n"), std::string::npos);
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
