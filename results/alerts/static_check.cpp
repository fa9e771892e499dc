// results/alerts/static_check.cpp — What is wrong with a rule before it meets any series.
#include "results/alerts/static_check.h"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <fmt/format.h>
#include <regex>

#include "results/alerts/promql.h"
#include "results/exporters/toml_file.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::results::alerts {

std::string_view name_of(DeadKind kind) {
    constexpr std::string_view names[] = {"",
                                          "misspelled",
                                          "named otherwise",
                                          "off by default",
                                          "contradiction",
                                          "out of reach",
                                          "range too short",
                                          "your names",
                                          "not simulated",
                                          "nobody's"};
    return names[static_cast<std::size_t>(kind)];
}

Silence silence_of(DeadKind kind) {
    switch (kind) {
        case DeadKind::none:
            return Silence::none;
        case DeadKind::your_names:
            return Silence::your_names;
        case DeadKind::not_simulated:
        case DeadKind::nobody:
            return Silence::not_simulated;
        default:
            return Silence::never;
    }
}

// ── What each rule mentions, through recording rules too.

namespace {

// Metric → the rules that record it.
using Recorders = std::map<std::string, std::vector<std::size_t>>;

// Each look-back comes on top of its reader's; `depth` ends cycles, which Prometheus allows.
void follow(std::size_t index, const Recorders& recorders, const std::vector<RuleReads>& all, RuleReads& into,
            double reader, int depth) {
    const Reads& reads = all[index].reads;
    into.names.insert(reads.identifiers.begin(), reads.identifiers.end());
    into.everything = into.everything || reads.everything;
    into.states = into.states || reads.everything || reads.identifiers.contains("ALERTS") ||
                  reads.identifiers.contains("ALERTS_FOR_STATE");
    for (const Selector& selector : reads.selectors) {
        into.metrics.insert(selector.metric);
        const double reach = reader + selector.range + selector.offset + selector.outer;
        into.look_back = std::max(into.look_back, reach);
        double& own = into.reach[selector.metric];
        own = std::max(own, reach);
        const auto recorded = recorders.find(selector.metric);
        if (recorded == recorders.end() || depth > 8) continue;
        for (const std::size_t other : recorded->second)
            follow(other, recorders, all, into, reach, depth + 1);
    }
}

}  // namespace

StaticAnalysis analyse(const std::vector<Rule>& rules, const Emitted& emitted) {
    StaticAnalysis analysis;
    Recorders recorders;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!rules[i].is_alert) recorders[rules[i].name].push_back(i);
    }
    for (const Rule& rule : rules) {
        RuleReads reads;
        reads.reads = scan(rule.expr);
        reads.thresholds = thresholds_of(rule.expr);
        find_misuse(rule, reads, emitted, analysis.findings);
        analysis.rules.push_back(std::move(reads));
    }
    std::vector<RuleReads> followed = analysis.rules;
    for (std::size_t i = 0; i < rules.size(); ++i) follow(i, recorders, analysis.rules, followed[i], 0, 0);
    analysis.rules = std::move(followed);
    return analysis;
}

// ── Rule patterns that load, look right and do not work. Each was seen in published rule sets.

namespace {

void add(std::vector<StaticFinding>& findings, const Rule& rule, std::string id, Weight weight,
         std::string says, std::string remedy) {
    const auto same = [&](const StaticFinding& one) {  // about the same metric in two places of the rule
        return one.id == id && one.says == says && one.alert == rule.name && one.line == rule.expr_line;
    };
    if (std::any_of(findings.begin(), findings.end(), same)) return;
    findings.push_back({std::move(id), weight, rule.file, rule.expr_line, 0, rule.name, std::move(says),
                        std::move(remedy), false});
}

void check_kind_of_metric(const Rule& rule, const Selector& selector, const exporters::Metric& metric,
                          std::vector<StaticFinding>& findings) {
    const bool grows = one_of(selector.function, {"increase", "rate", "irate", "resets"});
    const bool differs = one_of(selector.function, {"delta", "idelta", "deriv"});
    const bool counter = metric.type == exporters::MetricType::counter;
    if (!metric.changing.empty() && (grows || differs || selector.function == "changes")) {
        return add(
            findings, rule, "changing-labels", Weight::error,
            fmt::format(
                "{}() of {} is always empty: the label '{}' changes with the value, so each new code is a "
                "new series",
                selector.function, selector.metric, metric.changing),
            fmt::format("compare the value: {} > 0, or match {}=\"79\"", selector.metric, metric.changing));
    }
    if (grows && !counter) {
        add(findings, rule, "rate-of-gauge", Weight::warning,
            fmt::format("{}() is for counters, and {} is a gauge", selector.function, selector.metric),
            "use delta(), deriv() or a comparison");
    }
    if (differs && counter) {
        add(findings, rule, "delta-of-counter", Weight::warning,
            fmt::format("{}() is for gauges, and {} is a counter: a restart looks like a huge fall",
                        selector.function, selector.metric),
            "use increase() or rate()");
    }
    if (!metric.changing.empty() && selector.function.empty() && !selector.absent) {
        add(findings, rule, "never-resets", Weight::note,
            fmt::format("{} keeps the last code for ever: an alert on it does not clear after the repair",
                        selector.metric),
            "reset the GPU and restart the exporter after a repair");
    }
}

void check_share(const Rule& rule, const Reads& reads, std::vector<StaticFinding>& findings) {
    for (std::size_t i = 1; i < reads.selectors.size(); ++i) {
        const Selector& over = reads.selectors[i];
        if (over.op_before != "/" || !over.metric.ends_with("_FB_FREE") ||
            !reads.selectors[i - 1].metric.ends_with("_FB_USED")) {
            continue;
        }
        add(findings, rule, "used-over-free", Weight::error,
            "used / free is no share of the memory: it passes 1 at half full and has no bound",
            "write used / (used + free)");
    }
}

// Labels in `by (…)` that no metric of the expression has.
void check_names(const Rule& rule, const Reads& reads, const Emitted& emitted,
                 std::vector<StaticFinding>& findings) {
    std::set<std::string> known = {"alertname", "alertstate"};
    for (const auto& [name, value] : rule.labels) known.insert(name);
    for (const Selector& selector : reads.selectors) {
        if (!emitted.has(selector.metric)) return;  // recorded or unknown: its labels are unknown too
        known.merge(emitted.label_names(selector.metric));
    }
    if (reads.selectors.empty() || rule.expr.find("label_") != std::string::npos) return;
    const auto complain = [&](const std::string& label, const char* where) {
        if (known.contains(label)) return;
        const std::string near = scenarios::nearest(label, {known.begin(), known.end()});
        add(findings, rule, "label-unknown", Weight::warning,
            fmt::format("{} names the label '{}', which {} does not have", where, label,
                        reads.selectors[0].metric),
            near.empty() ? "" : "did you mean " + near + "?");
    };
    for (const std::string& label : reads.grouping) complain(label, "by (…)");
}

}  // namespace

bool has_short_range(const Selector& selector, double scrape) {
    return selector.range > 0 && selector.range < 2 * scrape && !selector.stepped &&
           one_of(selector.function, {"rate", "increase", "irate", "delta", "idelta", "deriv", "changes",
                                      "resets", "predict_linear", "holt_winters"});
}

std::string too_little_text(const Selector& selector, double scrape) {
    return fmt::format(
        "{}(…[{}]) compares scrapes, and {} hold {} of them while scrapes are {} apart: with this scrape "
        "interval it has no value",
        selector.function, exporters::duration_text(selector.range), exporters::duration_text(selector.range),
        selector.range <= scrape ? "one" : "for most targets one", exporters::duration_text(scrape));
}

void find_misuse(const Rule& rule, const RuleReads& what, const Emitted& emitted,
                 std::vector<StaticFinding>& findings) {
    const Reads& reads = what.reads;
    for (const Selector& selector : reads.selectors) {
        const exporters::Metric* metric = emitted.metric(selector.metric);
        if (metric != nullptr) check_kind_of_metric(rule, selector, *metric, findings);
    }
    check_share(rule, reads, findings);
    if (rule.is_alert) check_names(rule, reads, emitted, findings);
    // PromQL has no operator '&', and its parser does not say what to use instead.
    if (rule.expr.find(" & ") != std::string::npos) {
        add(findings, rule, "bit-and", Weight::error, "PromQL has no '&'",
            "test bit b by remainder: X % 2^(b+1) >= 2^b, as in X % 128 >= 64");
    }
}

}  // namespace deadrank::results::alerts
