// tests/results/alerts_rules_test.cpp — Goal: rule files are read with their lines, strangers are refused
// with what to do instead, and expressions are read for their names and thresholds.
#include <algorithm>
#include <fstream>
#include <map>
#include <tuple>

#include "tests/results/alerts_site.h"

namespace deadrank::results::alerts::testing {
namespace {

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

// What is no rule file, in the forms in which it is kept, with where to go from there.
TEST(AlertRules, AreToldFromTheirLikes) {
    const auto rule = [](const std::string& expr) {
        return "groups:\n- name: a\n  rules:\n  - alert: A\n    expr: " + expr + "\n";
    };
    const std::pair<std::string, std::string> strangers[] = {
        {rule("up > {{ $.Values.limit }}"), "helm template"},
        {rule("up > {{ $root.Values.limit | default 3 }}"), "helm template"},
        {R"({"apiVersion":1,"groups":[{"orgId":1,"name":"g","rules":[{"uid":"a"}]}]})", "Grafana alert"},
        {R"({"annotations":{"list":[]},"panels":[],"schemaVersion":39})", "Grafana dashboard"},
        {rule("sum(bytes_rate({app=\"x\"}[5m])) > 3"), "LogQL"},
        {rule("sum(rate({app=\"x\"} |= \"Xid\" [5m])) > 3"), "LogQL"},
        {rule("sum(count_over_time({app=\"x\"}[5m])) > 3"), "LogQL"}};
    for (const auto& [text, says] : strangers) {
        const auto checked = check_kind(text, "x.yml");
        ASSERT_FALSE(checked) << text;
        EXPECT_NE(checked.error().text().find(says), std::string::npos) << checked.error().text();
    }
    EXPECT_TRUE(check_kind(rule("up{panels=\"4\"} == 0 # {{ $labels.Values }}"), "x.yml"));
}

// A directory below without rights is left out and told; one that Kubernetes keeps behind links is read once.
TEST(AlertRules, OfADirectoryAreListedAsFarAsItMayBeRead) {
    namespace fs = std::filesystem;
    const fs::path all = scratch() + "listed";
    fs::remove_all(all);
    fs::create_directories(all / "below");
    fs::create_directories(all / "..2026_01");
    fs::create_directories(all / "closed");
    for (const char* file : {"a.yml", "below/b.rules", "..2026_01/c.yaml", "notes.txt"})
        std::ofstream(all / file) << "groups: []\n";
    fs::create_symlink("..2026_01/c.yaml", all / "c.yaml");
    const bool root = ::geteuid() == 0;
    fs::permissions(all / "closed", fs::perms::none);
    fs::permissions(all, fs::perms::all);
    if (root) {
        ASSERT_EQ(::seteuid(65534), 0);
    }
    const ListedFiles listed = rule_files_in({all.string()});
    if (root) {
        ASSERT_EQ(::seteuid(0), 0);
    }
    std::vector<std::string> names;
    for (const auto& [path, found] : listed.files) names.push_back(fs::path(path).filename().string());
    EXPECT_EQ(names, (std::vector<std::string>{"a.yml", "b.rules", "c.yaml"}));
    ASSERT_EQ(listed.unread.size(), 1u);
    EXPECT_NE(listed.unread[0].find("closed cannot be listed: Permission denied"), std::string::npos);
    fs::permissions(all / "closed", fs::perms::all);
    fs::remove_all(all);
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
    const std::vector<Rule> down = {{.name = "Down", .expr = "up{job=\"node\"} == 0"}};
    EXPECT_EQ(jobs_in(down, site.world).count("node"), 1u) << "the NCCL Inspector shares its target";
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
}

// An alert depends on its labels, not on its annotations, which promtool would render at each step.
TEST(AlertRules, AreWrittenForPromtoolWithoutAnnotationsAndWithMarks) {
    const RuleFile file =
        read_text("copied.yml",
                  "groups:\n- name: a\n  limit: 3\n  rules:\n"
                  "  - alert: A\n    expr: up == 0\n    for: 90s\n    labels: {severity: page}\n"
                  "    annotations: {summary: '{{ $labels.instance }}'}\n"
                  "  - alert: A\n    expr: up == 1\n");
    const std::string text = rules_text(file.rules, {true, false}, {{"p", "max(up)"}}, true);
    EXPECT_EQ(text.find("summary"), std::string::npos);
    EXPECT_EQ(text.find("up == 1"), std::string::npos);
    for (const char* part :
         {"\"severity\": \"page\"", "\"90000ms\"", "\"limit\": 3", "\"deadrank_rule\": \"0\"", "max(up)"})
        EXPECT_NE(text.find(part), std::string::npos) << part << text;
}

TEST(PromQlScan, FindsThresholdsAtTheTop) {
    const auto all = [](const std::string& expr) {
        std::string text;
        for (const Threshold& one : thresholds_of(expr))
            text += one.left + " " + std::string(scenarios::enum_name(one.op)) + " " + one.limit +
                    (one.number ? ";" : "?;");
        return text;
    };
    EXPECT_EQ(all("DCGM_FI_DEV_GPU_TEMP > 85"), "DCGM_FI_DEV_GPU_TEMP > 85;");
    EXPECT_EQ(all("(sum by (a) (b{c!=\"d\"}) / 2 >= 5 * 1024)"), "sum by (a) (b{c!=\"d\"}) / 2 >= 5 * 1024;");
    EXPECT_EQ(all("(a > 1) and on (x) (b < bool 3) or c == 4"), "a > 1;c == 4;");
    EXPECT_EQ(all("a > 1 unless b > 2"), "a > 1;");
    EXPECT_EQ(all("5 < a"), "a > 5;");
    EXPECT_EQ(all("a > on (x) group_left b"), "a > b?;");
    EXPECT_EQ(all("count(a > 5) > 3"), "count(a > 5) > 3;");
    EXPECT_EQ(all("absent(a > 5)"), "");
}

TEST(PromQlScan, TakesThresholdsAway) {
    EXPECT_EQ(without_thresholds("a{b!=\"c\"} > 5 and d == bool 3"), "a{b!=\"c\"} > bool  5 and d == bool 3");
    EXPECT_EQ(without_thresholds("a > 5 unless b"), "");
    EXPECT_EQ(without_thresholds("absent(a > 5)"), "");
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
    EXPECT_EQ(reads.selectors[0].text, "a_total{x=\"metric_in_text\", y=~\"b|c\"}");
    ASSERT_EQ(reads.selectors[0].matchers.size(), 2u);
    EXPECT_EQ(reads.selectors[0].matchers[1].op, results::alerts::MatchOp::matches);
    EXPECT_EQ(reads.selectors[1].offset, 86400);
    EXPECT_TRUE(reads.selectors[2].absent);
    EXPECT_TRUE(reads.selectors[2].excluding);
    EXPECT_FALSE(reads.everything);
    EXPECT_TRUE(scan("count({job=\"a\"})").everything);
    EXPECT_TRUE(scan("{__name__=~\"a.*\"} > 0").everything);
    EXPECT_EQ(scan("{__name__=\"a\"} > 0").selectors[0].metric, "a");
}

// "all(a, any(b, c))"
std::string text_of(const Need& need, const Reads& reads) {
    if (need.of == Need::Of::selector) return reads.selectors[need.selector].metric;
    std::string parts;
    for (const Need& part : need.parts) parts += (parts.empty() ? "" : ", ") + text_of(part, reads);
    return (need.of == Need::Of::any ? "any(" : "all(") + parts + ")";
}

TEST(PromQlScan, KnowsWhatIsNeeded) {
    const std::pair<const char*, const char*> cases[] = {
        {"a > 1", "a"},
        {"a / on (x) group_left b > 1", "all(a, b)"},
        {"a or b and c", "any(all(a), all(b, c))"},
        {"(a or b) and c unless d", "all(any(all(a), all(b)), c)"},
        {"a unless (b or c) and d", "all(a, d)"},
        {"sum by (x) (rate(a[5m]) or b) > 0 unless absent(c)", "any(all(a), all(b))"},
        {"absent(a) or b", "any(all(), all(b))"},
        {"((((a))))", "a"},
        {"a or vector(0)", "any(all(a), all(all()))"},
        {"max_over_time((a or b)[5m:1m])", "any(all(a), all(b))"}};
    for (const auto& [expr, needs] : cases) {
        const Reads reads = scan(expr);
        EXPECT_EQ(text_of(reads.need, reads), needs) << expr;
    }
}

TEST(PromQlScan, SurvivesWhatIsNoPromQlAndMissesNoName) {
    for (const std::string text : {"", "(", ")", "a{", "a{b", "a{b=", "a{b=\"", "a[", "a[5m", "a offset",
                                   "\"", "by (", "sum by", "1e", "))) or", "{}"}) {
        EXPECT_EQ(scan(text).identifiers.contains("a"), text.starts_with("a")) << text;
    }
}

}  // namespace
}  // namespace deadrank::results::alerts::testing
