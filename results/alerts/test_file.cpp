// results/alerts/test_file.cpp — The files that promtool judges: rules, series, and what is asked when.
#include "results/alerts/test_file.h"

#include <algorithm>
#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "results/exporters/toml_file.h"

namespace deadrank::results::alerts {

// ── Rules as JSON, which is YAML: no text in them needs quoting twice.

namespace {

using Json = nlohmann::ordered_json;

std::string group_name(std::size_t number) { return fmt::format("g{}", number); }

bool same_group(const Rule& a, const Rule& b) { return a.file == b.file && a.group_line == b.group_line; }

Json rule_json(const Rule& rule, std::size_t number, bool marked) {
    Json json = {{rule.is_alert ? "alert" : "record", rule.name}, {"expr", rule.expr}};
    const auto milliseconds = [](double seconds) {
        return fmt::format("{}ms", static_cast<long long>(seconds * 1000 + 0.5));
    };
    if (rule.hold > 0) json["for"] = milliseconds(rule.hold);
    if (rule.keep_firing > 0) json["keep_firing_for"] = milliseconds(rule.keep_firing);
    if (!rule.labels.empty()) json["labels"] = rule.labels;
    if (marked && rule.is_alert) json["labels"][rule_mark] = std::to_string(number);
    return json;
}

}  // namespace

std::string rules_text(const std::vector<Rule>& rules, const std::vector<bool>& kept,
                       const std::vector<Probe>& probes, bool marked) {
    Json groups = Json::array();
    std::size_t number = 0;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (i == 0 || !same_group(rules[i - 1], rules[i])) {
            groups.push_back({{"name", group_name(number++)}, {"rules", Json::array()}});
            if (rules[i].group_limit > 0) groups.back()["limit"] = rules[i].group_limit;
        }
        if (kept[i]) groups.back()["rules"].push_back(rule_json(rules[i], i, marked));
    }
    if (!probes.empty()) {
        Json last = {{"name", group_name(number)}, {"rules", Json::array()}};
        for (const Probe& one : probes) last["rules"].push_back({{"record", one.name}, {"expr", one.expr}});
        groups.push_back(std::move(last));
    }
    std::erase_if(groups.get_ref<Json::array_t&>(), [](const Json& group) { return group["rules"].empty(); });
    return Json{{"groups", groups}}.dump(1, ' ', false, Json::error_handler_t::replace) + "\n";
}

std::vector<std::string> groups_of(const std::vector<Rule>& rules) {
    std::vector<std::string> groups;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (i == 0 || !same_group(rules[i - 1], rules[i])) groups.push_back(group_name(groups.size()));
    }
    groups.push_back(group_name(groups.size()));  // of the probes
    return groups;
}

std::string in_single_quotes(const std::string& text) {
    std::string out = "'";
    for (const char c : text) out += c == '\'' ? "''" : std::string(1, c);
    return out + "'";
}

std::string file_safe(std::string id) {
    std::replace_if(
        id.begin(), id.end(),
        [](char c) { return std::isalnum(static_cast<unsigned char>(c)) == 0 && c != '-'; }, '_');
    return id;
}

// ── YAML by hand: series are in single quotes, where only a single quote needs doubling.

namespace {

std::string test_file_head(const TestInput& input, const std::string& why) {
    std::string text = why + "rule_files:\n";
    for (const std::string& file : input.rule_files) text += "  - " + in_single_quotes(file) + "\n";
    if (!input.groups.empty()) text += "group_eval_order:\n";
    for (const std::string& group : input.groups) text += "  - " + in_single_quotes(group) + "\n";
    text += fmt::format("evaluation_interval: {}\ntests:\n- interval: {}\n  name: {}\n  input_series:\n{}",
                        exporters::duration_text(input.eval), exporters::duration_text(input.window.scrape),
                        in_single_quotes(input.name), input.series);
    return text + "  promql_expr_test:\n";
}

std::string alert_selector(const Rule& rule) {
    std::string text = "ALERTS{alertstate=\"firing\",alertname=" + exporters::label_value(rule.name);
    for (const auto& [name, value] : rule.labels) {
        if (value.find("{{") == std::string::npos) text += "," + name + "=" + exporters::label_value(value);
    }
    return text + "}";
}

std::string alert_series(const Instance& instance) {
    exporters::Series series{.name = "ALERTS", .labels = instance.labels};
    series.labels["alertstate"] = "firing";
    return exporters::series_text(series);
}

// With its line breaks, which single quotes would fold: promtool prints the query that it was asked, and
// answers are found by it.
std::string in_double_quotes(const std::string& text) {
    return Json(text).dump(-1, ' ', false, Json::error_handler_t::replace);
}

bool fires_at(const Instance& instance, double time) {
    return std::any_of(instance.firing.begin(), instance.firing.end(), [&](const Interval& one) {
        return one.begin <= time && (one.open() || time < one.end);
    });
}

}  // namespace

std::string series_block(const std::vector<exporters::Series>& series) {
    std::string text;
    text.reserve(series.size() * 600);
    for (const exporters::Series& one : series) {
        text += "  - series: " + in_single_quotes(exporters::series_text(one)) + "\n    values: '";
        text += exporters::expanding_text(one.values) + "'\n";
    }
    return text;
}

std::string edge_test(const TestInput& input) {
    std::string text =
        test_file_head(input,
                       "# Which alerts begin (1) or end (0) at each evaluation: promtool prints them as "
                       "mismatches, and exits 0 when none does.\n");
    const std::string query = in_single_quotes(edge_query(input.eval));
    const double origin = input.window.start();
    const int steps = static_cast<int>(input.window.duration / input.eval);
    for (int step = 0; step <= steps; ++step) {
        const double time = origin + step * input.eval;
        text += fmt::format("  - {{expr: {}, eval_time: {}, exp_samples: []}}\n",
                            step == 0 && origin > 0 ? "ALERTS" : query, exporters::duration_text(time));
        if (input.probes)
            text += fmt::format("  - {{expr: '{{__name__=~\"{}.+\"}}', eval_time: {}, exp_samples: []}}\n",
                                probe_prefix, exporters::duration_text(time));
    }
    return text;
}

std::string kept_test(const TestInput& input, const std::vector<Expectation>& expectations,
                      const std::string& why) {
    std::string text = test_file_head(input, why);
    for (const Expectation& one : expectations) {
        text += fmt::format("  - expr: {}\n    eval_time: {}\n    exp_samples:", in_double_quotes(one.expr),
                            exporters::duration_text(input.window.start() + one.time));
        if (one.samples.empty()) text += " []";
        text += '\n';
        for (const auto& [labels, value] : one.samples) {
            text += fmt::format("    - labels: {}\n      value: {}\n", in_single_quotes(labels), value);
        }
    }
    if (expectations.empty()) text += "  - {expr: 'vector(1)', eval_time: 0s, exp_samples: [{value: 1}]}\n";
    return text;
}

void expect_rule(const Rule& rule, const std::vector<Instance>& instances, const exporters::Window& window,
                 std::vector<Expectation>& expectations) {
    std::vector<double> times;
    for (const Instance& instance : instances) {
        for (const Interval& one : instance.firing) times.push_back(one.begin);
    }
    std::sort(times.begin(), times.end());
    times.erase(std::unique(times.begin(), times.end()), times.end());
    const std::string selector = alert_selector(rule);
    if (times.empty()) {
        const std::string whole = exporters::duration_text(window.start() + window.duration);
        expectations.push_back({"count_over_time(" + selector + "[" + whole + "])", window.duration, {}});
        return;
    }
    if (times.size() > 4) times.resize(4);
    times.push_back(window.duration);
    for (const double time : times) {
        Expectation expectation{.expr = selector, .time = time};
        for (const Instance& instance : instances) {
            if (fires_at(instance, time)) expectation.samples.emplace_back(alert_series(instance), 1);
        }
        if (expectation.samples.size() > 16) {
            expectation.expr = "count(" + selector + ")";
            expectation.samples = {{"{}", static_cast<double>(expectation.samples.size())}};
        }
        expectations.push_back(std::move(expectation));
    }
}

}  // namespace deadrank::results::alerts
