// results/alerts/rule_kind.cpp — Tells rule files from what is often taken for one, before any YAML is
// parsed. Prometheus' own templates ({{ $labels.gpu }}) are welcome; those of Helm mean that the file is not
// rendered yet.
#include <algorithm>
#include <regex>

#include "results/alerts/rule.h"

namespace deadrank::results::alerts {

namespace {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

struct Stranger {
    const char* pattern;  // in one line of the text
    const char* what;
    const char* remedy;
};

// In order: the first that fits names the file.
constexpr Stranger strangers[] = {
    {R"~(\{\{-?\s*(\.Values|\.Release|\.Chart|\.Files|\.Capabilities|)~"
     R"~(include\s+"|template\s+"|define\s+"|toYaml|tpl\s))~",
     "is a Helm template, not YAML", "render it first: helm template CHART > rules.yaml"},
    {R"~(^\s*"?(panels|schemaVersion|templating)"?\s*:)~", "is a Grafana dashboard",
     "dashboards hold no Prometheus rules; give the rule files that Prometheus loads"},
    {R"~(^\s*-?\s*"?(datasourceUid|noDataState|execErrState|relativeTimeRange)"?\s*:)~",
     "is a Grafana alert export: its rules are queries of Grafana's own",
     "give Prometheus rule files; Grafana's unified alerting is not judged here"},
    {R"~(^\s*-?\s*(promql_expr_test|alert_rule_test|input_series)\s*:)~", "is a promtool test file",
     "give the rule files that it names"},
    {R"~(^(scrape_configs|rule_files|remote_write)\s*:)~", "is a Prometheus configuration",
     "give the files that its rule_files names"},
    {R"~(^(receivers|inhibit_rules)\s*:)~", "is an Alertmanager configuration",
     "give it as --alertmanager FILE"},
    {R"~(^kind\s*:\s*(ConfigMap|Deployment|Service|DaemonSet|ServiceMonitor|PodMonitor)\b)~",
     "is a Kubernetes resource without rules", "give the PrometheusRule, or the rule file inside"},
};

// Counted from 1; 0 = none. std::regex recurses for each character, so that long lines are looked at in their
// beginning.
int first_line_with(const char* pattern, const std::string& text) {
    const std::regex wanted(pattern);
    int number = 0;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        ++number;
        const auto begin = text.begin() + static_cast<std::ptrdiff_t>(at);
        const auto stop = begin + static_cast<std::ptrdiff_t>(std::min<std::size_t>(end - at, 1000));
        if (begin != stop && std::regex_search(begin, stop, wanted)) return number;
        at = end + 1;
    }
    return 0;
}

}  // namespace

bool is_template(const std::string& text) {
    return first_line_with(R"~(^\s*\{\{-?\s*(if|range|with|end|else)\b)~", text) > 0;
}

Result<void> check_kind(const std::string& text, const std::string& path) {
    const auto has_content = [](char c) { return std::isspace(static_cast<unsigned char>(c)) == 0; };
    if (std::none_of(text.begin(), text.end(), has_content)) {
        return refuse(ErrorCode::bad_input, "'" + path + "' is empty", "give a Prometheus rule file");
    }
    if (text.find('\0') != std::string::npos) {
        return refuse(ErrorCode::bad_input, "'" + path + "' is not text", "give a Prometheus rule file");
    }
    for (const Stranger& stranger : strangers) {
        const int line = first_line_with(stranger.pattern, text);
        if (line > 0)
            return refuse(ErrorCode::bad_input, "'" + path + "' " + stranger.what, stranger.remedy,
                          {path, line, 0});
    }
    return {};
}

}  // namespace deadrank::results::alerts
