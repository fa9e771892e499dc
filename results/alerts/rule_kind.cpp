// results/alerts/rule_kind.cpp — Tells rule files from what is often taken for one, before any YAML is parsed.
// Prometheus' own templates ({{ $labels.gpu }}) are welcome; those of Helm mean that the file is not rendered yet.
#include <algorithm>
#include <regex>

#include "results/alerts/rule.h"

namespace deadrank::results::alerts {

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

struct Stranger {
    const char* pattern;  // anywhere in the text, lines matched alone
    const char* what;
    const char* remedy;
};

// In order: the first that fits names the file.
constexpr Stranger strangers[] = {
    {R"~(\{\{-?\s*(\.Values|\.Release|\.Chart|\.Files|\.Capabilities|include\s+"|template\s+"|define\s+"|toYaml|tpl\s))~",
     "is a Helm template, not YAML", "render it first: helm template CHART > rules.yaml"},
    {R"~((^|\n)\s*"?(panels|schemaVersion|templating)"?\s*:)~", "is a Grafana dashboard",
     "dashboards hold no Prometheus rules; give the rule files that Prometheus loads"},
    {R"~((^|\n)\s*-?\s*"?(datasourceUid|noDataState|execErrState|relativeTimeRange)"?\s*:)~",
     "is a Grafana alert export: its rules are queries of Grafana's own",
     "give Prometheus rule files; Grafana's unified alerting is not judged here"},
    {R"~((^|\n)(scrape_configs|rule_files|remote_write)\s*:)~", "is a Prometheus configuration",
     "give the files that its rule_files names"},
    {R"~((^|\n)(receivers|inhibit_rules)\s*:)~", "is an Alertmanager configuration", "give it as --alertmanager FILE"},
    {R"~((^|\n)\s*rule_files\s*:[\s\S]*\n\s*tests\s*:)~", "is a promtool test file", "give the rule files that it names"},
    {R"~((^|\n)kind\s*:\s*(ConfigMap|Deployment|Service|DaemonSet|ServiceMonitor|PodMonitor)\b)~",
     "is a Kubernetes resource without rules", "give the PrometheusRule, or the rule file inside"},
};

}  // namespace

bool is_template(const std::string& text) {
    static const std::regex control(R"~((^|\n)\s*\{\{-?\s*(if|range|with|end|else)\b)~");
    return std::regex_search(text.substr(0, 64 * 1024), control);
}

Result<void> check_kind(const std::string& text, const std::string& path) {
    const auto has_content = [](char c) { return std::isspace(static_cast<unsigned char>(c)) == 0; };
    if (std::none_of(text.begin(), text.end(), has_content)) {
        return refuse(ErrorCode::bad_input, "'" + path + "' is empty", "give a Prometheus rule file");
    }
    if (text.find('\0') != std::string::npos) {
        return refuse(ErrorCode::bad_input, "'" + path + "' is not text", "give a Prometheus rule file");
    }
    // std::regex recurses for each character: long files are looked at in their first part, which decides.
    const std::string head = text.substr(0, 64 * 1024);
    for (const Stranger& stranger : strangers) {
        std::smatch match;
        if (!std::regex_search(head, match, std::regex(stranger.pattern))) continue;
        const auto before = head.begin() + match.position(0) + (head[match.position(0)] == '\n' ? 1 : 0);
        const int line = 1 + static_cast<int>(std::count(head.begin(), before, '\n'));
        return refuse(ErrorCode::bad_input, "'" + path + "' " + stranger.what, stranger.remedy, {path, line, 0});
    }
    return {};
}

}  // namespace deadrank::results::alerts
