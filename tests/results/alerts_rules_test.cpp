// tests/results/alerts_rules_test.cpp — Goal: rule files are read with their lines, strangers are refused
// with what to do instead, and what never can fire is known before anything runs.
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

StaticAnalysis analysis_of(const Site& site, const std::vector<Rule>& rules) {
    return analyse(rules, Emitted(site.world, site.signatures), site.world);
}

TEST(AlertRules, AreReadWithTheirLinesAndDurations) {
    const auto rules = rules_of_file("correct.yml");
    ASSERT_EQ(rules.size(), 8u);
    EXPECT_EQ(rules[0].name, "GpuOffBus");
    EXPECT_EQ(rules[0].line, 5);
    EXPECT_EQ(rules[0].expr_line, 6);
    EXPECT_EQ(rules[0].labels.at("severity"), "critical");
    EXPECT_EQ(rules[1].hold, 60);
    EXPECT_FALSE(rules[6].is_alert);
    EXPECT_EQ(rules_of_file("late.yml").back().interval, 300);
}

TEST(AlertRules, RefuseWhatIsNoRuleFileAndSayWhatToDo) {
    const std::pair<const char*, const char*> strangers[] = {
        {"helm.yml", "helm template"}, {"grafana.yml", "Grafana"}, {"alertmanager.yml", "--alertmanager"}};
    for (const auto& [name, remedy] : strangers) {
        const auto file = read_rules(rule_file(name), scratch());
        ASSERT_FALSE(file) << name;
        EXPECT_NE(file.error().text().find(remedy), std::string::npos) << file.error().text();
    }
    EXPECT_FALSE(read_rules(rule_file("absent.yml"), scratch()));
    EXPECT_FALSE(check_kind("  \n", "empty.yml"));
    EXPECT_FALSE(check_kind(std::string("a\0b", 3), "binary.yml"));
}

TEST(AlertRules, KeepBrokenYamlAsAVerdictWithItsLine) {
    const auto file = read_rules(rule_file("no_yaml.yml"), scratch());
    ASSERT_TRUE(file);
    EXPECT_FALSE(file->broken.empty());
    EXPECT_EQ(file->broken_line, 6);
}

TEST(AlertRules, AllowPrometheusTemplatesInAnnotations) {
    EXPECT_TRUE(
        check_kind("groups:\n- name: a\n  rules:\n  - alert: A\n    expr: up == 0\n    annotations:\n"
                   "      summary: '{{ $labels.instance }} {{ with query \"up\" }}{{ end }}'\n",
                   "a.yml"));
}

TEST(AlertRules, AreUnwrappedFromAKubernetesResource) {
    const auto file = read_rules(rule_file("prometheus_rule.yml"), scratch());
    ASSERT_TRUE(file);
    EXPECT_TRUE(file->unwrapped);
    ASSERT_EQ(file->rules.size(), 1u);
    EXPECT_EQ(file->rules[0].line, 10);
    EXPECT_EQ(file->content.find("apiVersion"), std::string::npos);
}

RuleFile read_text(const std::string& name, const std::string& text) {
    const std::string path = scratch() + "-" + name;
    std::ofstream(path) << text;
    auto file = read_rules(path, scratch());
    EXPECT_TRUE(file) << (file ? "" : file.error().text());
    return file ? *file : RuleFile{};
}

// promtool loads one rule of this file, and so do we.
TEST(AlertRules, AreThoseOfTheFirstYamlDocumentAsForPrometheus) {
    const RuleFile file = read_text("two.yml",
                                    "groups:\n- name: a\n  rules:\n  - alert: A\n    expr: up == 0\n---\n"
                                    "groups:\n- name: b\n  rules:\n  - alert: B\n    expr: up ==== 0\n");
    ASSERT_EQ(file.rules.size(), 1u);
    EXPECT_EQ(file.rules[0].name, "A");
    ASSERT_EQ(file.notes.size(), 1u) << "what is left out is told";
    EXPECT_NE(file.notes[0].find("two.yml:7"), std::string::npos) << file.notes[0];
}

TEST(AlertRules, OfThanosLoadWithoutItsOwnFields) {
    for (const char* head :
         {"groups:\n", "apiVersion: monitoring.coreos.com/v1\nkind: PrometheusRule\nspec:\n groups:\n"}) {
        const RuleFile file =
            read_text("thanos.yml", std::string(head) +
                                        " - name: a\n   partial_response_strategy: warn\n   rules:\n"
                                        "   - alert: A\n     expr: up == 0\n");
        ASSERT_EQ(file.rules.size(), 1u);
        EXPECT_EQ(file.content.find("partial_response"), std::string::npos);
        EXPECT_NE(file.loaded, file.path);
        EXPECT_FALSE(file.notes.empty());
    }
}

// An alert depends on its labels, not on its annotations, which promtool would render at each step.
TEST(AlertRules, AreCopiedWithoutAnnotationsAndWithLabels) {
    const RuleFile file = read_text("copied.yml",
                                    "groups:\n- name: a\n  rules:\n"
                                    "  - alert: A\n    expr: up == 0\n    labels: {severity: page}\n"
                                    "    annotations: {summary: '{{ $labels.instance }}'}\n"
                                    "  - alert: B\n    expr: up == 0\n");
    const auto copy = without_rules(file, {"B"}, scratch());
    ASSERT_TRUE(copy);
    EXPECT_EQ(copy->content.find("summary"), std::string::npos);
    EXPECT_EQ(copy->content.find("alert: B"), std::string::npos);
    EXPECT_NE(copy->content.find("severity: page"), std::string::npos);
}

TEST(AlertRules, NameEachKnownMisuse) {
    const Site site;
    const auto rules = rules_of_file("broken.yml");
    const StaticAnalysis analysis = analysis_of(site, rules);
    EXPECT_TRUE(has(ids_for(analysis, "XidIncrease"), "changing-labels"));
    EXPECT_TRUE(has(ids_for(analysis, "XidSticky"), "never-resets"));
    EXPECT_TRUE(has(ids_for(analysis, "XidWrongLabel"), "label-unknown"));
    EXPECT_TRUE(has(ids_for(analysis, "EccOffByDefault"), "metric-off"));
    EXPECT_TRUE(has(ids_for(analysis, "OldName"), "metric-renamed"));
    EXPECT_TRUE(has(ids_for(analysis, "NoSuchField"), "metric-unknown"));
    EXPECT_TRUE(has(ids_for(analysis, "UsedOverFree"), "used-over-free"));
    EXPECT_TRUE(ids_for(analysis, "LowUtilisation").empty());
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const bool dead = rules[i].name == "XidWrongLabel" || rules[i].name == "EccOffByDefault" ||
                          rules[i].name == "OldName" || rules[i].name == "NoSuchField";
        EXPECT_EQ(analysis.rules[i].dead, dead) << rules[i].name << ": " << analysis.rules[i].why_dead;
    }
}

// Goal: a dead alert says which kind of dead it is, and what is alive is not called dead.
TEST(AlertRules, DieOfDifferentCauses) {
    const Site site;
    const auto rules = rules_of_file("dead.yml");
    ASSERT_EQ(rules.size(), 20u);
    const StaticAnalysis analysis = analysis_of(site, rules);
    const std::map<std::string, DeadKind> expected = {{"Misspelled", DeadKind::misspelled},
                                                      {"LabelOfAnotherRelease", DeadKind::named_otherwise},
                                                      {"LabelOfKubernetes", DeadKind::named_otherwise},
                                                      {"OffByDefault", DeadKind::off_by_default},
                                                      {"OtherExporter", DeadKind::not_simulated},
                                                      {"Nobody", DeadKind::nobody},
                                                      {"NeverJoins", DeadKind::contradiction},
                                                      {"BothSidesOfOr", DeadKind::not_simulated},
                                                      {"RecordsNothing", DeadKind::not_simulated},
                                                      {"dead:record", DeadKind::not_simulated}};
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const auto at = expected.find(rules[i].name);
        const DeadKind kind = at == expected.end() ? DeadKind::none : at->second;
        EXPECT_EQ(name_of(analysis.rules[i].dead_kind), name_of(kind))
            << rules[i].name << ": " << analysis.rules[i].why_dead;
        EXPECT_EQ(analysis.rules[i].dead, kind != DeadKind::none)
            << rules[i].name << ": " << analysis.rules[i].why_dead;
    }
    EXPECT_TRUE(has(ids_for(analysis, "NeverJoins"), "join-never"));
    EXPECT_TRUE(has(ids_for(analysis, "ManyToMany"), "join-many"));
    EXPECT_TRUE(has(ids_for(analysis, "OutOfReach"), "threshold-out-of-reach"));
    EXPECT_TRUE(has(ids_for(analysis, "TooShort"), "range-too-short"));
    EXPECT_TRUE(ids_for(analysis, "JoinsByHost").empty());
    EXPECT_TRUE(ids_for(analysis, "OneNode").empty());
}

TEST(AlertRules, SayWhatTheirMetricsAreCalledElsewhere) {
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
TEST(AlertRules, KnowEarlierReleasesAndOtherSetUps) {
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
        {"kube_pod_container_status_restarts_total{container=\"slurm-exporter\"} > 1",
         DeadKind::not_simulated, ""},
        {"container_cpu_cfs_periods_total{namespace=\"\"} > 1", DeadKind::not_simulated, ""},
        {"container_memory_usage_bytes{namespace=\"\"} > 1", DeadKind::none, ""},
        {"etcd_server_has_leader == 0", DeadKind::none, ""}};
    for (const auto& [expr, kind, remedy] : expected) {
        const std::vector<Rule> rules = {{.name = "One", .expr = expr}};
        const StaticAnalysis analysis = analysis_of(site, rules);
        EXPECT_EQ(name_of(analysis.rules[0].dead_kind), name_of(kind)) << expr;
        if (!remedy.empty()) {
            EXPECT_EQ(analysis.rules[0].remedy, remedy) << expr;
        }
    }
    const std::vector<Rule> down = {{.name = "Down", .expr = "up{job=\"node\"} == 0"}};
    EXPECT_EQ(jobs_in(down, site.world).count("node"), 1u) << "the NCCL Inspector shares its target";
}

// Dead rules cost no history, however far they look back.
TEST(AlertRules, ThatAreDeadCostNoHistory) {
    const Site site;
    std::vector<Rule> rules = {{.name = "Dead", .expr = "avg_over_time(redfish_chassis_fan_health[7d]) > 1"}};
    EXPECT_EQ(history_needed(rules, analysis_of(site, rules), site.world.window), 0);
    rules[0].expr = "avg_over_time(node_load1[7h]) > 1";
    EXPECT_GE(history_needed(rules, analysis_of(site, rules), site.world.window), 7 * 3600);
    rules[0].expr = "max_over_time(rate(node_vmstat_oom_kill[5m])[7h:5m]) > 1";
    EXPECT_GE(history_needed(rules, analysis_of(site, rules), site.world.window), 7 * 3600 + 300);
}

TEST(AlertRules, OfACorrectFileAreAllAlive) {
    const Site site;
    const auto rules = rules_of_file("correct.yml");
    const StaticAnalysis analysis = analysis_of(site, rules);
    for (std::size_t i = 0; i < rules.size(); ++i) EXPECT_FALSE(analysis.rules[i].dead) << rules[i].name;
    EXPECT_TRUE(analysis.rules.back().metrics.contains("node_filesystem_avail_bytes"))
        << "reads through the recording rule";
}

TEST(AlertRules, LiveAndDieWithTheProfile) {
    const Site full("dcgm-full"), old("dcgm-1x"), own(rule_file("counters.csv"));
    const auto rules = rules_of_file("broken.yml");
    const auto dead = [&](const Site& site, const std::string& name) {
        const StaticAnalysis analysis = analysis_of(site, rules);
        for (std::size_t i = 0; i < rules.size(); ++i) {
            if (rules[i].name == name) return analysis.rules[i].dead;
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
TEST(AlertRules, OfAPrometheusOperatorAreJudgedWithItsLabels) {
    const auto file = read_text("operator.yml", R"(groups:
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
        for (const RuleReads& one : analysis_of(site, file.rules).rules) all.push_back(one.dead);
        return all;
    };
    EXPECT_EQ(dead(plain), (std::vector<bool>{true, true, true, false, true, true}));
    EXPECT_EQ(dead(operated), (std::vector<bool>{false, false, false, false, true, true}));
    // What else runs at that site is no fault of the rules.
    const StaticAnalysis analysis = analysis_of(operated, file.rules);
    EXPECT_EQ(analysis.rules[4].dead_kind, DeadKind::not_simulated);
    EXPECT_EQ(analysis.rules[5].dead_kind, DeadKind::not_simulated);
}

// What a plain set-up has too is no sign of Kubernetes; a PrometheusRule is one, whatever stands beside it.
TEST(AlertRules, SayWhetherTheyWereWrittenForAnOperator) {
    const Site site;
    EXPECT_EQ(kubernetes_reason({read_text("plain.yml", R"(groups:
- name: g
  rules:
  - {alert: Down, expr: 'up{job="node"} == 0'}
  - {alert: Pods, expr: 'kube_pod_status_phase{namespace!="kube-system", phase="Failed"} > 0'}
)")},
                                site.world),
              "");
    const auto manifest = read_text("manifest.yml", R"(kind: ServiceMonitor
spec: {}
---
kind: PrometheusRule
spec:
  groups:
  - name: g
    rules:
    - {alert: Down, expr: 'up == 0'}
)");
    EXPECT_EQ(manifest.rules.size(), 1u);
    EXPECT_NE(kubernetes_reason({manifest}, site.world).find("PrometheusRule"), std::string::npos);
}

// Jobs are called by the rules' own words, also where only `up` names them; another program's job is not.
TEST(AlertRules, NameTheJobsOfTheirTargets) {
    const Site site;
    const auto file = read_text("jobs.yml", R"(groups:
- name: g
  rules:
  - {alert: A, expr: 'up{job="kubelet-main"} == 0'}
  - {alert: B, expr: 'node_load1{job=~"gpu-nodes|cpu-nodes"} > 9'}
  - {alert: C, expr: 'up{job="node-problem-detector"} == 0'}
)");
    const auto jobs = jobs_in(file.rules, site.world);
    EXPECT_EQ(jobs, (std::map<std::string, std::string>{{"kubelet", "kubelet-main"}, {"node", "gpu-nodes"}}));
}

// Where a site's monitoring runs is its own choice, as far as its rules agree; a slip and a workload's
// namespace are not taken for it.
TEST(AlertRules, NameTheNamespacesOfTheirTargets) {
    const Site plain, operated("kubernetes");
    const auto file = read_text("namespaces.yml", R"(groups:
- name: g
  rules:
  - {alert: A, expr: 'prometheus_operator_ready{job="prometheus-operator", namespace="ops"} == 0'}
  - {alert: B, expr: 'up{job="alertmanager-main", namespace=~"observability"} == 0'}
  - {alert: C, expr: 'node_load1{namespace="monitorin"} > 900'}
  - {alert: D, expr: 'kube_pod_status_ready{namespace="shop", condition="true"} == 0'}
  - {alert: E, expr: 'kubelet_running_pods{namespace="one"} > 900'}
  - {alert: F, expr: 'kubelet_running_pods{namespace="two"} > 900'}
)");
    EXPECT_EQ(namespaces_in(file.rules, operated.world),
              (std::map<std::string, std::string>{{"prometheus-operator", "ops"},
                                                  {"alertmanager", "observability"}}));
    EXPECT_TRUE(namespaces_in(file.rules, plain.world).empty());
    Site adopted("kubernetes");
    std::vector<std::string> notes;
    adopt_names(file.rules, adopted.world, notes);
    EXPECT_EQ(notes.size(), 2u);
    EXPECT_TRUE(analysis_of(operated, file.rules).rules[0].dead);
    const auto rules = analysis_of(adopted, file.rules).rules;
    EXPECT_FALSE(rules[0].dead) << rules[0].why_dead;
    EXPECT_FALSE(rules[1].dead);
    EXPECT_TRUE(rules[2].dead) << "misspelled";
    EXPECT_TRUE(rules[3].dead) << "a workload that is not simulated";
}

TEST(PromQlScan, FindsMetricsAndNotFunctionsLabelsOrTexts) {
    const Reads reads = scan(
        "sum by (job, gpu) (rate(a_total{x=\"metric_in_text\", y=~\"b|c\"}[5m])) / on (node) group_left "
        "count without (z) (d offset 1d) > bool 0.5e3 # e\n unless absent(f) or (g and h)");
    std::vector<std::string> names;
    for (const Selector& one : reads.selectors) names.push_back(one.metric);
    EXPECT_EQ(names, (std::vector<std::string>{"a_total", "d", "f", "g", "h"}));
    EXPECT_EQ(reads.selectors[0].function, "rate");
    EXPECT_EQ(reads.selectors[0].range, 300);
    ASSERT_EQ(reads.selectors[0].matchers.size(), 2u);
    EXPECT_EQ(reads.selectors[0].matchers[1].op, "=~");
    EXPECT_EQ(reads.selectors[1].offset, 86400);
    EXPECT_TRUE(reads.selectors[2].absent);
    EXPECT_TRUE(reads.selectors[2].optional);
    EXPECT_EQ(reads.branches, 2);
    EXPECT_EQ(reads.selectors[3].branch, 1);
    EXPECT_FALSE(reads.everything);
    EXPECT_TRUE(scan("count({job=\"a\"})").everything);
    EXPECT_TRUE(scan("{__name__=~\"a.*\"} > 0").everything);
    EXPECT_EQ(scan("{__name__=\"a\"} > 0").selectors[0].metric, "a");
}

TEST(PromQlScan, SurvivesWhatIsNoPromQlAndMissesNoName) {
    for (const std::string text : {"", "(", ")", "a{", "a{b", "a{b=", "a{b=\"", "a[", "a[5m", "a offset",
                                   "\"", "by (", "sum by", "1e", "))) or", "{}"}) {
        EXPECT_EQ(scan(text).identifiers.contains("a"), text.starts_with("a")) << text;
    }
}

}  // namespace
}  // namespace deadrank::results::alerts::testing
