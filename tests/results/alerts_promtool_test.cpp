// tests/results/alerts_promtool_test.cpp — Goal: promtool's words are read exactly, whatever labels hold; and
// with the real program, sample rules get the verdicts that a person would give them.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "results/alerts/promtool_player.h"
#include "results/processes/bounded.h"
#include "results/processes/private_directory.h"
#include "tests/results/alerts_site.h"

namespace deadrank::results::alerts::testing {
namespace {

TEST(PromtoolOutput, IsReadCharacterByCharacter) {
    const std::string text =
        "  FAILED:\n    expr: \"ALERTS unless ALERTS offset 15s\", time: 1h20m15s,\n        exp: nil\n"
        "        got: {Hostname=\"gpu-node-017\", __name__=\"ALERTS\", err_msg=\"x \\\"q\\\", {y}\", "
        "gpu=\"3\"} 1E+00, {a=\"b\"} 0E+00\n";
    const auto answer = external::read_test_output(1, "Unit Testing:  a.yml\n", text);
    ASSERT_EQ(answer.mismatches.size(), 1u);
    EXPECT_EQ(answer.mismatches[0].time, 4815);
    ASSERT_EQ(answer.mismatches[0].got.size(), 2u);
    EXPECT_EQ(answer.mismatches[0].got[0].labels.at("err_msg"), "x \"q\", {y}");
    EXPECT_EQ(answer.mismatches[0].got[1].value, 0);
    EXPECT_TRUE(answer.other.empty());
}

TEST(PromtoolOutput, TellsLoadErrorsAndRulesThatAreTooLarge) {
    const auto answer = external::read_test_output(1, "",
                                                   "  FAILED:\n/x/r.yml: 12:9: group \"g\", rule 1, \"T\": "
                                                   "could not parse expression: 1:5: parse error: bad\n"
                                                   "    rule: Big, time: 0s, err: query processing would "
                                                   "load too many samples into memory in query execution\n");
    ASSERT_EQ(answer.load.size(), 1u);
    EXPECT_EQ(answer.load[0].line, 12);
    EXPECT_EQ(answer.load[0].column, 9);
    ASSERT_EQ(answer.rules.size(), 1u);
    EXPECT_EQ(answer.rules[0].rule, "Big");
}

// Fields that Prometheus does not know are told below one head, each with its line.
TEST(PromtoolOutput, ListsUnknownFieldsOnce) {
    const auto answer =
        external::read_test_output(1, "",
                                   "Checking a.yml\n  FAILED:\na.yml: yaml: unmarshal errors:\n"
                                   "  line 3: field type not found in type rulefmt.RuleGroup\n"
                                   "  line 7: field uid not found in type rulefmt.RuleNode\n");
    ASSERT_EQ(answer.load.size(), 2u);
    EXPECT_EQ(answer.load[0].place(), "a.yml:3");
    EXPECT_EQ(answer.load[1].line, 7);
    EXPECT_EQ(answer.load[1].words, "field uid not found in type rulefmt.RuleNode");
}

// promtool removes its storage when it ends by itself; one that is stopped cannot.
TEST(Promtool, ThatIsStoppedLeavesNothingBehind) {
    namespace fs = std::filesystem;
    const auto place = processes::PrivateDirectory::make();
    ASSERT_TRUE(place);
    const fs::path program = place->path() / "promtool", begun = place->path() / "begun",
                   temporary = place->path() / "tmp";
    fs::create_directory(temporary);
    std::ofstream(program) << "#!/bin/sh\ncase $1 in --version) echo promtool, version 2.42.0 ;;\n"
                           << "*) mkdir $TMPDIR/test_storage7 && touch " << begun.string()
                           << " && sleep 600 ;; esac\n";
    fs::permissions(program, fs::perms::owner_all);
    const auto tool = external::Promtool::find(program.string());
    ASSERT_TRUE(tool) << tool.error().text();
    const char* before = std::getenv("TMPDIR");
    const std::string kept = before ? before : "";
    ::setenv("TMPDIR", temporary.c_str(), 1);
    EXPECT_FALSE(tool->test_rules("test.yml", [&] { return fs::exists(begun); }));
    if (before)
        ::setenv("TMPDIR", kept.c_str(), 1);
    else
        ::unsetenv("TMPDIR");
    EXPECT_TRUE(fs::exists(begun));
    EXPECT_TRUE(fs::is_empty(temporary));
}

// As a kernel without memory ends it: no rule is wrong for that.
TEST(Promtool, ThatIsKilledGivesNoAnswer) {
    const auto program = std::filesystem::path(::testing::TempDir()) / "killed_promtool";
    std::ofstream(program)
        << "#!/bin/sh\ncase $1 in --version) echo promtool, version 2.42.0 ;; *) kill -9 $$ ;; esac\n";
    std::filesystem::permissions(program, std::filesystem::perms::owner_all);
    const auto tool = external::Promtool::find(program.string());
    ASSERT_TRUE(tool) << tool.error().text();
    const auto checked = tool->check_rules("rules.yml");
    ASSERT_FALSE(checked);
    EXPECT_NE(checked.error().what.find("signal 9"), std::string::npos) << checked.error().what;
    EXPECT_FALSE(tool->test_rules("test.yml"));
}

TEST(PromtoolOutput, SurvivesAnything) {
    for (const char* text :
         {"got: {", "got: {a=\"", "expr: \"", "expr: x", "rule: ", "{} ", ": ", "got: nil", "a: b: c"}) {
        external::read_test_output(1, text, text);
    }
    EXPECT_FALSE(external::read_samples("{a=\"b\""));
    EXPECT_TRUE(external::read_samples("nil"));
}

Study study_of(const Site& site, const std::string& file, const std::vector<std::string>& faults,
               PromtoolPlayer& player) {
    Study study;
    study.world = site.world;
    study.files = {read_rules(rule_file(file), scratch()).value()};
    study.rules = study.files[0].rules;
    study.analysis = analyse(study.rules, Emitted(site.world, site.signatures));
    std::vector<exporters::Incident> incidents;
    for (const std::string& fault : faults) incidents.push_back(site.incident(fault));
    const auto done = conduct(study, incidents, player, site.signatures, {.jobs = 2});
    EXPECT_TRUE(done) << (done ? "" : done.error().text());
    return study;
}

const Cell& cell(const Study& study, const std::string& fault, const std::string& alert) {
    static const Cell none;
    for (const Row& row : study.rows) {
        for (std::size_t i = 0; row.incident.id == fault && i < row.cells.size(); ++i) {
            if (study.rules[i].name == alert) return row.cells[i];
        }
    }
    ADD_FAILURE() << "no cell " << fault << " " << alert;
    return none;
}

class DevicePromtool : public ::testing::Test {
protected:
    void SetUp() override {
        auto tool = external::Promtool::find();
        if (!tool) GTEST_SKIP() << tool.error().text();
        player_.emplace(*tool, PromtoolPlayer::Options{scratch()});
    }
    Site site_;
    std::optional<PromtoolPlayer> player_;
};

TEST_F(DevicePromtool, GivesCorrectRulesTheirVerdictsAndAHealthyRunIsSilent) {
    const Study study =
        study_of(site_, "correct.yml",
                 {"gpu_off_bus", "thermal_throttle", "ib_port_down", "node_down", "disk_full"}, *player_);
    for (const HealthyRow& row : study.healthy) EXPECT_EQ(row.verdict, AlertVerdict::unconcerned) << row.says;
    EXPECT_EQ(cell(study, "gpu_off_bus", "GpuOffBus").latency_low, 0);
    EXPECT_EQ(cell(study, "gpu_off_bus", "GpuOffBus").place, Locality::exact);
    EXPECT_EQ(cell(study, "thermal_throttle", "GpuHot").verdict, AlertVerdict::caught);
    EXPECT_EQ(cell(study, "ib_port_down", "InfinibandPortDown").latency_low, 30)
        << "`for: 30s` and not a second less";
    EXPECT_EQ(cell(study, "ib_port_down", "InfinibandPortDown").place, Locality::exact);
    EXPECT_EQ(cell(study, "node_down", "TargetDown").latency_low, 60);
    EXPECT_TRUE(cell(study, "disk_full", "DiskFull").noticed()) << "through a recording rule";
    EXPECT_EQ(cell(study, "disk_full", "InfinibandPortDown").verdict, AlertVerdict::unconcerned);
}

TEST_F(DevicePromtool, TellsEachKindOfBrokenRule) {
    const Study study =
        study_of(site_, "broken.yml", {"gpu_off_bus", "nccl_hang", "thermal_throttle"}, *player_);
    EXPECT_EQ(cell(study, "gpu_off_bus", "XidIncrease").verdict, AlertVerdict::missed);
    EXPECT_EQ(cell(study, "gpu_off_bus", "XidSticky").verdict, AlertVerdict::sticky);
    EXPECT_EQ(cell(study, "gpu_off_bus", "XidWrongLabel").verdict, AlertVerdict::dead);
    EXPECT_EQ(cell(study, "nccl_hang", "LowUtilisation").verdict, AlertVerdict::missed)
        << "utilisation stays at 100 %";
    EXPECT_EQ(cell(study, "nccl_hang", "Nervous").verdict, AlertVerdict::false_alarm);
    EXPECT_EQ(cell(study, "nccl_hang", "Watchdog").verdict, AlertVerdict::background);
    EXPECT_EQ(cell(study, "thermal_throttle", "CanaryNodeSlow").verdict, AlertVerdict::wrong_place);
    ASSERT_TRUE(study.rows[1].suggestion) << "a missed hang comes with what would have shown it";
    EXPECT_TRUE(study.rows[1].suggestion->fired);
    EXPECT_TRUE(study.rows[1].suggestion->quiet_when_healthy);
}

// What rang before the failure, or first rings after the repair, catches nothing and meets no policy.
TEST_F(DevicePromtool, TakesWhatRingsAnywayForNoCatch) {
    const Study study = study_of(site_, "noisy.yml", {"nccl_hang", "process_crash"}, *player_);
    EXPECT_EQ(study.healthy[0].verdict, AlertVerdict::false_alarm);
    const Cell& busy = cell(study, "nccl_hang", "GpuBusy");
    EXPECT_FALSE(busy.noticed()) << busy.says;
    EXPECT_EQ(cell(study, "process_crash", "JobLoads").verdict, AlertVerdict::after_repair)
        << cell(study, "process_crash", "JobLoads").says;
    Policy policy{.file = "policy.toml", .musts = {{.fault = "nccl_hang", .within = 3600}}, .given = true};
    const auto found = breaches(study, policy);
    EXPECT_TRUE(
        std::any_of(found.begin(), found.end(), [](const Breach& one) { return one.fault == "nccl_hang"; }));
}

TEST_F(DevicePromtool, TellsLateAndPendingAndHonoursAGroupsInterval) {
    const Study study =
        study_of(site_, "late.yml", {"thermal_throttle", "node_down", "ib_port_down"}, *player_);
    EXPECT_EQ(cell(study, "thermal_throttle", "GpuHotLate").verdict, AlertVerdict::late);
    EXPECT_EQ(cell(study, "node_down", "TargetDownLate").verdict, AlertVerdict::late);
    EXPECT_EQ(cell(study, "ib_port_down", "PortDownPending").verdict, AlertVerdict::pending_only);
    EXPECT_EQ(cell(study, "ib_port_down", "PortDownPending").needed, 300);
    const Cell& slow = cell(study, "node_down", "TargetDownSlowGroup");
    EXPECT_EQ(slow.latency_high - slow.latency_low, 315) << "a scrape and the group's own interval";
}

// The stronger alert really fires, and the weaker one is silent from then on: at once where it is evaluated
// after it, one evaluation later where before.
TEST_F(DevicePromtool, LetsAlertsReadTheStateOfOthers) {
    for (const bool first : {false, true}) {
        const Study study =
            study_of(site_, first ? "inhibited_first.yml" : "inhibits.yml", {"thermal_throttle"}, *player_);
        std::map<std::string, Interval> firing;
        for (std::size_t i = 0; i < study.rules.size(); ++i) {
            const auto& instances = study.rows[0].played.activity[i];
            ASSERT_EQ(instances.size(), 1u) << study.rules[i].name;
            ASSERT_FALSE(instances[0].firing.empty()) << study.rules[i].name;
            firing[study.rules[i].name] = instances[0].firing.front();
        }
        EXPECT_EQ(firing["Mild"].begin, firing["Warm"].begin);
        EXPECT_LT(firing["Mild"].begin, firing["Hot"].begin);
        EXPECT_EQ(firing["Mild"].end, firing["Hot"].begin + (first ? site_.world.window.eval : 0));
        EXPECT_GT(firing["Warm"].end, firing["Mild"].end);
    }
}

// Alerts of one name and the same labels are told apart, and a refusal is told with Prometheus' words.
TEST_F(DevicePromtool, TellsRulesOfOneNameApartAndWhatItRefuses) {
    Study study;
    study.world = site_.world;
    study.rules = {{.name = "Same", .expr = "up == 0"},
                   {.name = "Same", .expr = "up == 1"},
                   {.is_alert = false,
                    .name = "many",
                    .expr = "DCGM_FI_DEV_GPU_TEMP / on (instance) DCGM_FI_DEV_POWER_USAGE"},
                   {.name = "Reads", .expr = "many > 1"}};
    study.analysis = analyse(study.rules, Emitted(site_.world, site_.signatures));
    ASSERT_TRUE(
        conduct(study, {site_.incident("node_down")}, *player_, site_.signatures, {.suggest = false}));
    ASSERT_EQ(study.rows[0].cells.size(), 4u) << study.rows[0].trouble;
    EXPECT_EQ(study.rows[0].cells[0].verdict, AlertVerdict::caught) << study.rows[0].cells[0].says;
    EXPECT_EQ(study.healthy[1].verdict, AlertVerdict::background);
    EXPECT_EQ(study.rows[0].cells[3].verdict, AlertVerdict::unjudged);
    EXPECT_NE(study.rows[0].cells[3].says.find("many-to-many"), std::string::npos)
        << study.rows[0].cells[3].says;
}

// Where a failure moves a signal decides whether a silent rule has missed it; series that end concern rules
// that count them; a killed rank's pod is restarted.
TEST_F(DevicePromtool, JudgesSilentRulesByWhereTheSignalGoes) {
    const std::map<std::string, std::map<std::string, std::pair<std::string, AlertVerdict>>> expected = {
        {"nccl_hang",
         {{"Hot", {"DCGM_FI_DEV_GPU_TEMP > 85", AlertVerdict::unconcerned}},
          {"Power", {"DCGM_FI_DEV_POWER_USAGE > 700", AlertVerdict::unconcerned}},
          {"Against", {"DCGM_FI_DEV_POWER_USAGE > 900 + 0 * DCGM_FI_DEV_FB_USED", AlertVerdict::unconcerned}},
          {"Idle", {"DCGM_FI_DEV_GPU_UTIL < 10", AlertVerdict::missed}},
          {"Weak", {"DCGM_FI_DEV_POWER_USAGE < 60", AlertVerdict::missed}},
          {"Cool", {"DCGM_FI_DEV_GPU_TEMP == 7", AlertVerdict::missed}},
          {"Count", {"count by (Hostname) (DCGM_FI_DEV_GPU_TEMP) < 4", AlertVerdict::unconcerned}}}},
        {"node_down",
         {{"Fewer", {"count(up{job=\"node-exporter\"} == 1) < 4", AlertVerdict::caught}},
          {"CountCpus", {"count(count by (instance) (node_cpu_seconds_total)) < 4", AlertVerdict::caught}},
          {"Gone", {"absent(up{job=\"node-exporter\"})", AlertVerdict::missed}},
          {"ByHost", {"count by (Hostname) (DCGM_FI_DEV_GPU_TEMP) < 4", AlertVerdict::missed}}}},
        {"process_crash",
         {{"Restarts", {"increase(kube_pod_container_status_restarts_total[15m]) > 0", AlertVerdict::caught}},
          {"Loop",
           {"kube_pod_container_status_waiting_reason{reason=\"CrashLoopBackOff\"} == 1",
            AlertVerdict::caught}},
          {"Error",
           {"kube_pod_container_status_last_terminated_reason{reason=\"Error\"} == 1",
            AlertVerdict::sticky}}}},
        {"host_oom_kill",
         {{"Oom",
           {"kube_pod_container_status_last_terminated_reason{reason=\"OOMKilled\"} == 1",
            AlertVerdict::sticky}},
          {"Short", {"rate(node_vmstat_oom_kill[20s]) > 0", AlertVerdict::dead}},
          {"Out", {"DCGM_FI_DEV_GPU_UTIL > 110", AlertVerdict::dead}}}},
        {"idle_cluster",
         {{"Done", {"kube_pod_status_phase{phase=\"Succeeded\"} == 1", AlertVerdict::caught}}}}};
    for (const auto& [fault, rules] : expected) {
        Study study;
        study.world = site_.world;
        for (const auto& [name, rule] : rules)
            study.rules.push_back({.name = name, .expr = rule.first, .file = "one.yml"});
        study.analysis = analyse(study.rules, Emitted(site_.world, site_.signatures));
        ASSERT_TRUE(conduct(study, {site_.incident(fault)}, *player_, site_.signatures, {.suggest = false}));
        for (const auto& [name, rule] : rules) {
            const Cell& one = cell(study, fault, name);
            EXPECT_EQ(name_of(one.verdict), name_of(rule.second))
                << fault << ", " << name << ": " << one.says;
        }
    }
}

// Rates over hours are evaluated with fewer samples, and a value whose curve is drawn once beside the alert
// itself. What counts samples keeps each.
TEST_F(DevicePromtool, AnswersRulesOverHoursAndOfAllSeriesWithLittleWork) {
    const auto conducted = [&](const std::string& expr) {
        Study study;
        study.world = site_.world;
        study.world.cluster = {2, 2};
        study.rules = {{.name = "One", .expr = expr}};
        study.analysis = analyse(study.rules, Emitted(study.world, site_.signatures));
        EXPECT_TRUE(conduct(study, {}, *player_, site_.signatures, {.suggest = false}));
        return study;
    };
    const auto text_of = [&](const std::string& file) {
        std::ifstream in(scratch() + "/" + file);
        return std::string(std::istreambuf_iterator<char>(in), {});
    };
    const auto times = [](const std::string& text, const std::string& word) {
        std::size_t count = 0;
        for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
        return count;
    };
    const Study rate = conducted("sum by (instance) (rate(node_cpu_seconds_total{mode=\"user\"}[6h])) < 0.1");
    EXPECT_EQ(times(text_of("healthy.day.rules.json"), "rate("), 2u) << "by the alert, and for its curve";
    const auto& curve = rate.healthy_played.curves.at({0, 0});
    EXPECT_EQ(curve.size(), 46u) << "45 minutes, a minute apart";
    EXPECT_GT(curve.front().second, 0.1);
    const Study all = conducted("count({__name__=~\".+\"}) < 10");
    EXPECT_EQ(times(text_of("healthy.states.rules.json"), "count("), 2u);
    EXPECT_GT(all.healthy_played.curves.at({0, 0}).front().second, 1000);
}

TEST(PromtoolRuns, HaveFewerSamplesOfHoursWhereAValueStaysTheSame) {
    const Site site("dcgm-default", {2, 2});
    const auto samples = [&](const std::string& expr) {
        const std::vector<Rule> rules = {{.name = "One", .expr = expr}};
        const StaticAnalysis analysis = analyse(rules, Emitted(site.world, site.signatures));
        const auto parts = parts_of({true}, rules, analysis, site.world.window, 600);
        const auto series = series_of(parts.at(0), site.world, exporters::healthy_run(), rules, analysis);
        const auto& values = series.at(0).values;
        return std::count_if(values.begin(), values.end(), [](double one) { return !std::isnan(one); });
    };
    const std::string cpu = "node_cpu_seconds_total{mode=\"user\",cpu=\"0\",instance=\"gpu-node-000:9100\"}";
    EXPECT_LT(samples("rate(" + cpu + "[6h]) < 0.1"), 800);
    EXPECT_GT(samples("count_over_time(" + cpu + "[6h]) < 0.1"), 1400);
    EXPECT_GT(samples("rate(" + cpu + "[1m] offset 6h) < 0.1"), 1400);
    EXPECT_GT(samples("max_over_time(rate(" + cpu + "[1m])[6h:1m]) < 0.1"), 1400);
}

TEST_F(DevicePromtool, AgreesWithTheKeptFilesByItsExitCode) {
    const Study study = study_of(site_, "correct.yml", {"gpu_off_bus", "ib_port_flap"}, *player_);
    for (const char* name : {"/healthy", "/gpu_off_bus", "/ib_port_flap"}) {
        const auto answer =
            processes::run_bounded({player_->tool().path(), "test", "rules", scratch() + name + ".test.yml"},
                                   processes::Bounds::none());
        ASSERT_TRUE(answer);
        EXPECT_EQ(answer->code, 0) << answer->err;
    }
    EXPECT_TRUE(std::any_of(study.rows[0].cells.begin(), study.rows[0].cells.end(), [](const Cell& one) {
        return one.noticed();
    })) << "or the files would state nothing";
}

TEST_F(DevicePromtool, RefusesABrokenRuleWithItsLine) {
    const auto troubles = player_->tool().check_rules(rule_file("invalid.yml"));
    ASSERT_TRUE(troubles);
    ASSERT_EQ(troubles->size(), 1u);
    EXPECT_EQ((*troubles)[0].line, 6);
    EXPECT_NE((*troubles)[0].words.find("unexpected character"), std::string::npos) << (*troubles)[0].words;
}

}  // namespace
}  // namespace deadrank::results::alerts::testing
