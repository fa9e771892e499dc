// tests/results/alerts_silence_test.cpp — Goal: an alert that cannot fire here is told why, under the heading
// of whom it concerns, and one that can fire is not among them. Prometheus says what has series.
#include <algorithm>
#include <fstream>
#include <map>
#include <tuple>

#include "tests/results/alerts_site.h"

namespace deadrank::results::alerts::testing {
namespace {

std::vector<std::string> ids_for(const StaticAnalysis& analysis, const std::string& alert) {
    std::vector<std::string> ids;
    for (const StaticFinding& one : analysis.findings) {
        if (one.alert == alert) ids.push_back(one.id);
    }
    return ids;
}

bool has(const std::vector<std::string>& all, const std::string& one) {
    return std::find(all.begin(), all.end(), one) != all.end();
}

class DeviceAlertSilence : public ::testing::Test {
protected:
    void SetUp() override {
        auto tool = external::Promtool::find();
        if (!tool) GTEST_SKIP() << tool.error().text();
        player_.emplace(*tool, PromtoolPlayer::Options{scratch() + "-silence", false});
    }

    StaticAnalysis analysis_of(const Site& site, const std::vector<Rule>& rules) {
        const Emitted emitted(site.world, site.signatures);
        StaticAnalysis analysis = analyse(rules, emitted);
        const auto there = player_->presence(rules, analysis, emitted);
        EXPECT_TRUE(there) << (there ? "" : there.error().text());
        if (there) explain_silence(rules, *there, emitted, site.world, analysis);
        return analysis;
    }

    std::optional<PromtoolPlayer> player_;
};

RuleFile operators_file(const std::string& name, const std::string& text) {
    const std::string path = scratch() + "-silence-" + name;
    std::ofstream(path) << text;
    auto file = read_rules(path, scratch());
    EXPECT_TRUE(file) << (file ? "" : file.error().text());
    return file ? *file : RuleFile{};
}

TEST_F(DeviceAlertSilence, NameEachKnownMisuse) {
    const Site site;
    const auto rules = rules_of_file("broken.yml");
    const StaticAnalysis analysis = analysis_of(site, rules);
    EXPECT_TRUE(has(ids_for(analysis, "XidIncrease"), "changing-labels"));
    EXPECT_TRUE(has(ids_for(analysis, "XidSticky"), "never-resets"));
    const StaticAnalysis twice = analysis_of(
        site, {{.name = "Twice", .expr = "DCGM_FI_DEV_XID_ERRORS == 79 or DCGM_FI_DEV_XID_ERRORS == 94"}});
    EXPECT_EQ(ids_for(twice, "Twice"), (std::vector<std::string>{"never-resets"}));
    EXPECT_TRUE(has(ids_for(analysis, "XidWrongLabel"), "label-unknown"));
    EXPECT_TRUE(has(ids_for(analysis, "EccOffByDefault"), "metric-off"));
    EXPECT_TRUE(has(ids_for(analysis, "OldName"), "metric-renamed"));
    EXPECT_TRUE(has(ids_for(analysis, "NoSuchField"), "metric-unknown"));
    EXPECT_TRUE(has(ids_for(analysis, "UsedOverFree"), "used-over-free"));
    EXPECT_TRUE(ids_for(analysis, "LowUtilisation").empty());
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const bool dead = rules[i].name == "XidWrongLabel" || rules[i].name == "EccOffByDefault" ||
                          rules[i].name == "OldName" || rules[i].name == "NoSuchField";
        EXPECT_EQ(analysis.rules[i].dead(), dead) << rules[i].name << ": " << analysis.rules[i].why_dead;
    }
}

// promtool repeats the query that it was asked; one with line breaks must be found again.
TEST_F(DeviceAlertSilence, DoesNotDependOnLineBreaks) {
    const Site site;
    const RuleFile file =
        operators_file("lines.yml",
                       "groups:\n- name: g\n  rules:\n  - alert: Low\n    expr: |\n"
                       "      (node_memory_MemAvailable_bytes\n       /  # of all\n"
                       "       node_memory_MemTotal_bytes{\n         job=~\".+\"\n       }) * 100\n"
                       "      < 10\n");
    ASSERT_EQ(file.rules.size(), 1u);
    const StaticAnalysis analysis = analysis_of(site, file.rules);
    EXPECT_FALSE(analysis.rules[0].dead()) << analysis.rules[0].why_dead;
}

// Goal: a dead alert says which kind of dead it is, and what is alive is not called dead.
TEST_F(DeviceAlertSilence, DieOfDifferentCauses) {
    const Site site;
    const auto rules = rules_of_file("dead.yml");
    ASSERT_EQ(rules.size(), 20u);
    const StaticAnalysis analysis = analysis_of(site, rules);
    const std::map<std::string, DeadKind> expected = {
        {"Misspelled", DeadKind::misspelled},        {"LabelOfAnotherRelease", DeadKind::named_otherwise},
        {"LabelOfKubernetes", DeadKind::your_names}, {"OffByDefault", DeadKind::off_by_default},
        {"OtherExporter", DeadKind::not_simulated},  {"Nobody", DeadKind::nobody},
        {"NeverJoins", DeadKind::contradiction},     {"BothSidesOfOr", DeadKind::not_simulated},
        {"RecordsNothing", DeadKind::not_simulated}, {"dead:record", DeadKind::not_simulated},
        {"OutOfReach", DeadKind::out_of_reach},      {"TooShort", DeadKind::range_too_short}};
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const auto at = expected.find(rules[i].name);
        const DeadKind kind = at == expected.end() ? DeadKind::none : at->second;
        EXPECT_EQ(name_of(analysis.rules[i].dead_kind), name_of(kind))
            << rules[i].name << ": " << analysis.rules[i].why_dead;
        EXPECT_EQ(analysis.rules[i].dead(), kind != DeadKind::none)
            << rules[i].name << ": " << analysis.rules[i].why_dead;
    }
    EXPECT_TRUE(has(ids_for(analysis, "NeverJoins"), "join-never"));
    EXPECT_TRUE(has(ids_for(analysis, "OutOfReach"), "threshold-out-of-reach"));
    EXPECT_TRUE(has(ids_for(analysis, "TooShort"), "range-too-short"));
    EXPECT_TRUE(ids_for(analysis, "JoinsByHost").empty());
    EXPECT_TRUE(ids_for(analysis, "OneNode").empty());
}

// Of what is needed together one part suffices, and the most final reason counts; of an `or`, in parentheses
// or not, all parts have to be silent, and the least final reason counts.
TEST_F(DeviceAlertSilence, FollowAndAndOrToTheReason) {
    const Site site("kubernetes");
    const std::string mine = "kube_pod_status_phase{namespace=\"mine\",phase=\"Failed\"} == 1",
                      yours = "kube_pod_status_ready{namespace=\"mine\",condition=\"false\"} == 1",
                      slip = "DCGM_FI_DEV_GPU_TEMPP > 1", there = "kube_pod_info",
                      foreign = "redfish_health > 1";
    const std::vector<std::pair<std::string, DeadKind>> expected = {
        {"(" + mine + " or " + yours + ") * on (namespace, pod) group_left (node) " + there,
         DeadKind::your_names},
        {"(" + mine + " or " + yours + ") unless on (pod) " + there, DeadKind::your_names},
        {there + " unless on (pod) (" + mine + " or " + yours + ")", DeadKind::none},
        {"((" + mine + ")) or ((" + there + "))", DeadKind::none},
        {"max by (pod) (" + mine + " or " + slip + ")", DeadKind::your_names},
        {mine + " and " + slip, DeadKind::misspelled},
        {slip + " and " + mine, DeadKind::misspelled},
        {mine + " and on (pod) " + foreign, DeadKind::not_simulated},
        {slip + " or " + foreign, DeadKind::not_simulated},
        {"(" + mine + " or kube_node_info) and on (pod) DCGM_FI_DEV_GPU_TEMP", DeadKind::your_names}};
    std::vector<Rule> rules;
    for (const auto& [expr, kind] : expected) rules.push_back({.name = expr, .expr = expr});
    const StaticAnalysis analysis = analysis_of(site, rules);
    for (std::size_t i = 0; i < rules.size(); ++i)
        EXPECT_EQ(name_of(analysis.rules[i].dead_kind), name_of(expected[i].second))
            << rules[i].expr << ": " << analysis.rules[i].why_dead;
}

// What an alert misses by absent() or `unless` is told apart by whose matter it is.
TEST_F(DeviceAlertSilence, TellWhatAnAbsenceIsAbout) {
    const Site site("kubernetes");
    const std::vector<std::tuple<std::string, DeadKind, bool>> expected = {
        {"absent(up{job=\"jobset-controller\"} == 1)", DeadKind::not_simulated, true},
        {"absent(up{job=\"jobset-controller\"}) or up{job=\"jobset-controller\"} == 0",
         DeadKind::not_simulated, true},
        {"absent_over_time(redfish_health[5m])", DeadKind::not_simulated, true},
        {"absent(kube_pod_info{namespace=\"mine\"})", DeadKind::your_names, true},
        {"kube_node_info unless on (node) redfish_health", DeadKind::not_simulated, false},
        {"absent(DCGM_FI_DEV_GPU_TEMPP)", DeadKind::none, false},  // rings in production too
        {"absent(up)", DeadKind::none, false},
        {"up == 0", DeadKind::none, false}};
    std::vector<Rule> rules;
    for (const auto& one : expected) rules.push_back({.name = std::get<0>(one), .expr = std::get<0>(one)});
    const StaticAnalysis analysis = analysis_of(site, rules);
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const RuleReads::Unseen& unseen = analysis.rules[i].unseen;
        EXPECT_EQ(name_of(unseen.kind), name_of(std::get<1>(expected[i]))) << rules[i].expr << unseen.says;
        EXPECT_EQ(unseen.all, std::get<2>(expected[i])) << rules[i].expr;
    }
}

// promtool is asked with the least and the most of each metric; the range is told with its source.
TEST_F(DeviceAlertSilence, KnowWhichThresholdsAMetricNeverPasses) {
    const Site site;
    const std::vector<std::pair<std::string, DeadKind>> expected = {
        {"DCGM_FI_DEV_GPU_UTIL > 110", DeadKind::out_of_reach},
        {"110 < DCGM_FI_DEV_GPU_UTIL", DeadKind::out_of_reach},
        {"100 * avg by (Hostname) (DCGM_FI_PROF_PIPE_TENSOR_ACTIVE) > 100", DeadKind::out_of_reach},
        {"(max_over_time(DCGM_FI_DEV_GPU_UTIL[5m])) > (50 + 60)", DeadKind::out_of_reach},
        {"1 - DCGM_FI_PROF_PIPE_TENSOR_ACTIVE > 1", DeadKind::out_of_reach},
        {"up == 2", DeadKind::out_of_reach},
        {"DCGM_FI_DEV_GPU_UTIL > 110 and DCGM_FI_DEV_GPU_TEMP > 85", DeadKind::out_of_reach},
        {"DCGM_FI_DEV_GPU_UTIL > 110 or DCGM_FI_DEV_GPU_TEMP > 85", DeadKind::none},
        {"DCGM_FI_DEV_GPU_TEMP > 85 unless DCGM_FI_DEV_GPU_UTIL > 110", DeadKind::none},
        {"DCGM_FI_DEV_GPU_UTIL > 99", DeadKind::none},
        {"up == 1", DeadKind::none},
        {"DCGM_FI_DEV_GPU_UTIL == 50", DeadKind::none},
        {"sum(DCGM_FI_DEV_GPU_UTIL) > 110", DeadKind::none},
        {"DCGM_FI_DEV_GPU_UTIL + DCGM_FI_DEV_GPU_UTIL offset 5m > 110", DeadKind::none},
        {"delta(DCGM_FI_DEV_GPU_UTIL[5m]) > 110", DeadKind::none},
        {"up{job=\"jobset-controller\"} == 0", DeadKind::your_names}};
    std::vector<Rule> rules;
    for (const auto& [expr, kind] : expected) rules.push_back({.name = expr, .expr = expr});
    const StaticAnalysis analysis = analysis_of(site, rules);
    for (std::size_t i = 0; i < rules.size(); ++i)
        EXPECT_EQ(name_of(analysis.rules[i].dead_kind), name_of(expected[i].second))
            << rules[i].expr << ": " << analysis.rules[i].why_dead;
    EXPECT_FALSE(has(ids_for(analysis, rules.back().name), "threshold-out-of-reach")) << "it has no series";
    EXPECT_NE(analysis.rules[0].why_dead.find("between 0 and 100 (dcgm-exporter: GPU utilization"),
              std::string::npos)
        << analysis.rules[0].why_dead;
}

// Two scrapes have to lie in a range; through recording rules too, and in every part of an `or`.
TEST_F(DeviceAlertSilence, KnowRangesThatHoldLessThanTwoScrapes) {
    const Site site;
    const std::vector<Rule> rules = {
        {.is_alert = false, .name = "oom:rate", .expr = "sum(rate(node_vmstat_oom_kill[15s]))"},
        {.name = "Recorded", .expr = "oom:rate > 0"},
        {.name = "OnePart", .expr = "rate(node_vmstat_oom_kill[20s]) > 0 or node_load1 > 90"},
        {.name = "Enough", .expr = "rate(node_vmstat_oom_kill[30s]) > 0"},
        {.name = "Steps", .expr = "max_over_time(rate(node_vmstat_oom_kill[1m])[20s:5s]) > 0"},
        {.name = "Average", .expr = "avg_over_time(node_load1[20s]) > 90"}};
    const StaticAnalysis analysis = analysis_of(site, rules);
    EXPECT_EQ(analysis.rules[1].dead_kind, DeadKind::range_too_short) << analysis.rules[1].why_dead;
    for (std::size_t i = 2; i < rules.size(); ++i)
        EXPECT_FALSE(analysis.rules[i].dead()) << rules[i].name << ": " << analysis.rules[i].why_dead;
}

// Prometheus says which labels a value has. A rule's own labels are added after its templates are filled.
TEST_F(DeviceAlertSilence, TellWhichLabelsOfATemplateAreLost) {
    const Site site;
    const auto lost = [&](const std::string& expr, const std::string& text) {
        const std::vector<Rule> rules = {{.name = "One",
                                          .expr = expr,
                                          .labels = {{"severity", "page"}},
                                          .annotations = {{"summary", text}}}};
        std::string says;
        for (const StaticFinding& one : analysis_of(site, rules).findings)
            if (one.id == "label-lost") says += one.says + ": " + one.remedy;
        return says;
    };
    const std::string kept = "avg by (instance) (DCGM_FI_DEV_GPU_TEMP) > 85";
    EXPECT_NE(lost(kept, "{{ $labels.Hostname }}").find("by (…, Hostname)"), std::string::npos);
    EXPECT_NE(lost(kept, "{{ .Labels.gpu }}"), "");
    EXPECT_EQ(lost(kept, "{{ $labels.instance }}"), "");
    EXPECT_EQ(lost("DCGM_FI_DEV_GPU_TEMP > 85", "{{ $labels.Hostname }} {{ $labels.gpu }}"), "");
    EXPECT_NE(lost("up == 0", "{{ $labels.severity }}").find("own labels"), std::string::npos);
    EXPECT_EQ(lost("max without (gpu) (DCGM_FI_DEV_GPU_TEMP) > 85", "{{ $labels.Hostname }}"), "");
}

// A key that is none of ours would be passed over in silence.
TEST(AlertNameMap, RefusesAKeyThatIsNoWordOfOurs) {
    const Site site;
    const auto refusal = [&](const std::string& text) {
        const std::string path = scratch() + "-map.toml";
        std::ofstream(path) << text;
        const auto map = exporters::load_name_map(path, site.metrics);
        return map ? std::string() : map.error().text();
    };
    EXPECT_NE(refusal("[jobs]\nnodes = \"n\"\n").find("did you mean 'node'"), std::string::npos)
        << refusal("[jobs]\nnodes = \"n\"\n");
    EXPECT_NE(refusal("[labels]\nhostnam = \"h\"\n").find("Hostname"), std::string::npos);
    EXPECT_NE(refusal("[metrics]\nmy_own_metric_of_this_site = \"x\"\n"), "");
    EXPECT_NE(refusal("[cluster]\nhosts = \"n##\"\n").find("did you mean 'host'"), std::string::npos);
    EXPECT_EQ(refusal("[jobs]\nnode = \"n\"\n[labels]\nHostname = \"h\"\nnamespace = \"ns\"\n"
                      "[metrics]\nloss = \"l\"\nDCGM_FI_DEV_GPU_TEMP = \"t\"\n"),
              "");
}

TEST_F(DeviceAlertSilence, SayWhatTheirMetricsAreCalledElsewhere) {
    const Site site;
    const auto rules = rules_of_file("dead.yml");
    ASSERT_GT(rules.size(), 5u);
    const StaticAnalysis analysis = analysis_of(site, rules);
    EXPECT_NE(analysis.rules[0].remedy.find("DCGM_FI_DEV_GPU_TEMP"), std::string::npos);
    EXPECT_NE(analysis.rules[1].remedy.find("Hostname"), std::string::npos) << analysis.rules[1].remedy;
    EXPECT_NE(analysis.rules[2].remedy.find("dcgm-kubernetes"), std::string::npos)
        << analysis.rules[2].remedy;
    EXPECT_NE(analysis.rules[4].why_dead.find("redfish_exporter"), std::string::npos)
        << analysis.rules[4].why_dead;
}

// Goal: names of earlier releases, words in another order and labels of other set-ups are told as such.
TEST_F(DeviceAlertSilence, KnowEarlierReleasesAndOtherSetUps) {
    const Site site;
    const std::vector<std::tuple<std::string, DeadKind, std::string>> expected = {
        {"kube_hpa_status_current_replicas > 1", DeadKind::named_otherwise,
         "write kube_horizontalpodautoscaler_status_current_replicas"},
        {"sum(kube_node_status_allocatable_cpu_cores) < 9", DeadKind::named_otherwise,
         "write kube_node_status_allocatable{resource=\"cpu\"}"},
        {"node_memory_MemTotal < 1", DeadKind::named_otherwise, "write node_memory_MemTotal_bytes"},
        {"kube_deployment_status_available_replicas < 1", DeadKind::misspelled,
         "did you mean kube_deployment_status_replicas_available?"},
        {"container_fs_usage_bytes{container_label_app=\"loki\"} > 1", DeadKind::not_simulated, ""},
        {"kube_pod_labels{label_app=\"loki\"} > 1", DeadKind::off_by_default, ""},
        {"kube_pod_container_status_restarts_total{container=\"slurm-exporter\"} > 1", DeadKind::your_names,
         ""},
        {"container_cpu_cfs_periods_total{namespace=\"\"} > 1", DeadKind::not_simulated, ""},
        {"container_memory_usage_bytes{namespace=\"\"} > 1", DeadKind::none, ""},
        {"vllm:num_requests_waiting > 50", DeadKind::not_simulated, ""},
        {"node_vllm:requests > 50", DeadKind::nobody, ""},
        {"etcd_server_has_leader == 0", DeadKind::none, ""}};
    for (const auto& [expr, kind, remedy] : expected) {
        const std::vector<Rule> rules = {{.name = "One", .expr = expr}};
        const StaticAnalysis analysis = analysis_of(site, rules);
        EXPECT_EQ(name_of(analysis.rules[0].dead_kind), name_of(kind)) << expr;
        if (!remedy.empty()) {
            EXPECT_EQ(analysis.rules[0].remedy, remedy) << expr;
        }
    }
}

TEST_F(DeviceAlertSilence, OfACorrectFileAreAllAlive) {
    const Site site;
    const auto rules = rules_of_file("correct.yml");
    const StaticAnalysis analysis = analysis_of(site, rules);
    for (std::size_t i = 0; i < rules.size(); ++i) EXPECT_FALSE(analysis.rules[i].dead()) << rules[i].name;
    EXPECT_TRUE(analysis.rules.back().metrics.contains("node_filesystem_avail_bytes"))
        << "reads through the recording rule";
}

TEST_F(DeviceAlertSilence, LiveAndDieWithTheProfile) {
    const Site full("dcgm-full"), old("dcgm-1x"), own(rule_file("counters.csv"));
    const auto rules = rules_of_file("broken.yml");
    const auto dead = [&](const Site& site, const std::string& name) {
        const StaticAnalysis analysis = analysis_of(site, rules);
        for (std::size_t i = 0; i < rules.size(); ++i) {
            if (rules[i].name == name) return analysis.rules[i].dead();
        }
        return false;
    };
    EXPECT_FALSE(dead(full, "EccOffByDefault"));
    EXPECT_FALSE(dead(own, "EccOffByDefault"));
    EXPECT_TRUE(dead(own, "XidSticky"));
    EXPECT_FALSE(dead(old, "OldName"));
    EXPECT_TRUE(dead(old, "LowUtilisation"));
}

// A Prometheus Operator labels every target; rules that ask for it say so, and are alive only there.
TEST_F(DeviceAlertSilence, OfAPrometheusOperatorAreJudgedWithItsLabels) {
    const auto file = operators_file("operator.yml", R"(groups:
- name: g
  rules:
  - alert: Reload
    expr: prometheus_config_last_reload_successful{job="prometheus-k8s",namespace="monitoring"} == 0
  - {alert: Exporter, expr: 'up{job="nvidia-dcgm-exporter", pod!=""} == 0'}
  - {alert: Workload, expr: 'DCGM_FI_DEV_GPU_TEMP{exported_pod=~"pretrain-.*"} > 90'}
  - {alert: Container, expr: 'sum by (pod) (kube_pod_status_phase{namespace="training"}) < 1'}
  - {alert: Elsewhere, expr: 'up{job="postgres"} == 0'}
  - {alert: Another, expr: 'kube_pod_status_ready{pod=~"gateway-.*", condition="true"} == 0'}
)");
    const Site plain, operated("kubernetes");
    EXPECT_NE(kubernetes_reason({file}, plain.world).find("Reload"), std::string::npos);
    const auto dead = [&](const Site& site) {
        std::vector<bool> all;
        for (const RuleReads& one : analysis_of(site, file.rules).rules) all.push_back(one.dead());
        return all;
    };
    EXPECT_EQ(dead(plain), (std::vector<bool>{true, true, true, false, true, true}));
    EXPECT_EQ(dead(operated), (std::vector<bool>{false, false, false, false, true, true}));
    // What else runs at that site is no fault of the rules.
    const StaticAnalysis analysis = analysis_of(operated, file.rules);
    EXPECT_EQ(analysis.rules[4].dead_kind, DeadKind::your_names);
    EXPECT_EQ(analysis.rules[5].dead_kind, DeadKind::your_names);
}

}  // namespace
}  // namespace deadrank::results::alerts::testing
