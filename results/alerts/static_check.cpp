// results/alerts/static_check.cpp — What is wrong with a rule before it meets any series.
#include "results/alerts/static_check.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <fmt/format.h>
#include <regex>

#include "results/alerts/promql.h"
#include "results/exporters/toml_tree.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::results::alerts {

std::string_view name_of(DeadKind kind) {
    constexpr std::string_view names[] = {
        "", "misspelled", "named otherwise", "off by default", "contradiction", "not simulated", "nobody's"};
    return names[static_cast<std::size_t>(kind)];
}

bool is_fault_of_rule(DeadKind kind) {
    return kind != DeadKind::none && kind != DeadKind::not_simulated && kind != DeadKind::nobody;
}

// Existence: metrics against the profile, matchers against the labels, and what that means for the rule as a
// whole.

namespace {

struct Context {
    std::map<std::string, std::vector<std::size_t>> recorded = {};  // metric → recording rules
};

// Collects metrics and look-back through recording rules, each look-back on top of its reader's; `depth` ends
// cycles, which Prometheus allows.
void follow(std::size_t index, const Context& context, const std::vector<RuleReads>& all, RuleReads& into,
            double reader, int depth) {
    for (const Selector& selector : all[index].reads.selectors) {
        into.metrics.insert(selector.metric);
        const double reach = reader + selector.range + selector.offset + selector.outer;
        into.look_back = std::max(into.look_back, reach);
        into.everything = into.everything || all[index].reads.everything;
        const auto recorded = context.recorded.find(selector.metric);
        if (recorded == context.recorded.end() || depth > 8) continue;
        for (const std::size_t other : recorded->second) {
            follow(other, context, all, into, reach, depth + 1);
            // How a recorded value follows this one is not worked out: either direction counts.
            for (const Wish& wish : all[other].wishes) {
                if (into.wishes.size() < 256) into.wishes.push_back({wish.selector, 0});
            }
        }
    }
}

}  // namespace

StaticAnalysis analyse(const std::vector<Rule>& rules, const Emitted& emitted,
                       const exporters::World& world) {
    StaticAnalysis analysis;
    Context context;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!rules[i].is_alert) context.recorded[rules[i].name].push_back(i);
    }
    Existence existence(rules, emitted, world);
    for (const Rule& rule : rules) {
        RuleReads reads;
        reads.reads = scan(rule.expr);
        existence.check(rule, reads, analysis.findings);
        find_misuse(rule, reads.reads, emitted, world.window.scrape, analysis.findings);
        if (!reads.dead || !rule.is_alert)
            analysis.wanted.insert(reads.reads.identifiers.begin(), reads.reads.identifiers.end());
        analysis.everything = analysis.everything || reads.reads.everything;
        analysis.rules.push_back(std::move(reads));
    }
    std::vector<RuleReads> followed = analysis.rules;
    for (std::size_t i = 0; i < rules.size(); ++i) follow(i, context, analysis.rules, followed[i], 0, 0);
    analysis.rules = std::move(followed);
    for (const RuleReads& one : analysis.rules)
        analysis.look_back = std::max(analysis.look_back, one.look_back);
    return analysis;
}

StaticAnalysis narrowed(const StaticAnalysis& analysis, const std::vector<bool>& asked) {
    StaticAnalysis narrow = analysis;
    narrow.wanted.clear();
    narrow.everything = false;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        if (!asked[i]) continue;
        const RuleReads& one = analysis.rules[i];
        narrow.wanted.insert(one.reads.identifiers.begin(), one.reads.identifiers.end());
        narrow.wanted.insert(one.metrics.begin(), one.metrics.end());
        narrow.everything = narrow.everything || one.everything || one.reads.everything;
    }
    return narrow;
}

double history_needed(const std::vector<Rule>& rules, const StaticAnalysis& analysis,
                      const exporters::Window& window) {
    constexpr double most = 14 * 86400.0;
    double needed = 0, grid = 300;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const RuleReads& reads = analysis.rules[i];
        if (!rules[i].is_alert || reads.dead) continue;
        // Recorded series begin slightly later than what they record.
        needed = std::max(needed, reads.look_back + rules[i].hold + rules[i].keep_firing + 2 * window.eval);
        const double interval = rules[i].interval > 0 ? rules[i].interval : window.eval;
        if (reads.reads.subquery || std::fmod(grid, interval) != 0) grid = 3600;
    }
    grid = std::ceil(grid / window.scrape) * window.scrape;
    return std::ceil(std::min(needed, most) / grid) * grid;
}

double history_needed(const std::vector<Rule>& rules, StaticAnalysis analysis,
                      const exporters::Window& window, const std::vector<bool>& asked) {
    for (std::size_t i = 0; i < asked.size(); ++i) analysis.rules[i].dead |= !asked[i];
    return history_needed(rules, analysis, window);
}

std::optional<std::set<std::string>> read_by(const StaticAnalysis& analysis, const std::vector<bool>& asked) {
    std::set<std::string> read;
    for (std::size_t i = 0; i < asked.size(); ++i) {
        if (!asked[i]) continue;
        if (analysis.rules[i].everything) return std::nullopt;
        read.insert(analysis.rules[i].metrics.begin(), analysis.rules[i].metrics.end());
    }
    return read;
}

// Rule patterns that load, look right and do not work. Each was seen in published rule sets.

namespace {

void add(std::vector<StaticFinding>& findings, const Rule& rule, std::string id, Weight weight,
         std::string says, std::string remedy) {
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

// Labels of by (…) and {{ $labels.X }} that none of the metrics has.
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
    static const std::regex used(R"(\$labels\.([a-zA-Z_][a-zA-Z0-9_]*))");
    std::set<std::string> said;
    for (const auto& [name, whole] : rule.annotations) {
        const std::string text = whole.substr(0, 4096);
        for (std::sregex_iterator match(text.begin(), text.end(), used), end; match != end; ++match) {
            if (said.insert((*match)[1]).second) complain((*match)[1], "an annotation");
        }
    }
}

}  // namespace

void find_misuse(const Rule& rule, const Reads& reads, const Emitted& emitted, double scrape,
                 std::vector<StaticFinding>& findings) {
    for (const Selector& selector : reads.selectors) {
        if (selector.range <= 0 || selector.range >= 2 * scrape ||
            !one_of(selector.function, {"rate", "increase", "irate", "delta", "idelta", "deriv", "changes"}))
            continue;
        add(findings, rule, "range-too-short", Weight::error,
            fmt::format("{}(…[{}]) holds less than two scrapes, {} apart: it has no value", selector.function,
                        exporters::duration_text(selector.range), exporters::duration_text(scrape)),
            fmt::format("look back over {} or more", exporters::duration_text(4 * scrape)));
    }
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

// Which way a series must move to make a rule fire.

namespace {

// Which way a call's value follows its argument: 1, -1, or 0 for neither.
int follows(const std::string& call) {
    if (one_of(call, {"rate",
                      "increase",
                      "irate",
                      "delta",
                      "idelta",
                      "deriv",
                      "avg_over_time",
                      "max_over_time",
                      "min_over_time",
                      "sum_over_time",
                      "last_over_time",
                      "quantile_over_time",
                      "ceil",
                      "floor",
                      "round",
                      "sum",
                      "avg",
                      "min",
                      "max",
                      "topk",
                      "bottomk",
                      "quantile",
                      "label_replace",
                      "label_join",
                      "sort",
                      "sort_desc",
                      "clamp",
                      "clamp_min",
                      "clamp_max",
                      "predict_linear",
                      "scalar",
                      "sqrt",
                      "ln",
                      "log2",
                      "log10",
                      "exp",
                      "histogram_quantile"}))
        return 1;
    return 0;
}

// `way`: how the value of this tree must move; 2 = it only has to exist.
void collect_wishes(const Expression& tree, int way, std::vector<Wish>& wishes) {
    switch (tree.kind) {
        case Expression::Kind::selector:
            wishes.push_back({tree.selector, way == 2 ? 0 : way});
            return;
        case Expression::Kind::call:
        case Expression::Kind::aggregate:
            for (const auto& arg : tree.args)
                collect_wishes(*arg, way == 2 ? 2 : way * follows(tree.op), wishes);
            return;
        case Expression::Kind::negative:
            return collect_wishes(*tree.args[0], way == 2 ? 2 : -way, wishes);
        case Expression::Kind::subquery:
            return collect_wishes(*tree.args[0], way, wishes);
        case Expression::Kind::binary:
            break;
        default:
            return;
    }
    const Expression &left = *tree.args[0], &right = *tree.args[1];
    if (one_of(tree.op, {"and", "or", "unless"})) {
        collect_wishes(left, way, wishes);
        return collect_wishes(right, tree.op == "or" ? way : tree.op == "and" ? 2 : 0, wishes);
    }
    if (one_of(tree.op, {"==", "!=", ">", "<", ">=", "<="})) {
        const int up = one_of(tree.op, {">", ">="}) ? 1 : one_of(tree.op, {"<", "<="}) ? -1 : 0;
        // `bool` makes it a value, whose own direction then counts.
        const int turned = tree.boolean && way != 2 ? way * up : up;
        collect_wishes(left, turned, wishes);
        return collect_wishes(right, -turned, wishes);
    }
    const bool falls = one_of(tree.op, {"-", "/"});
    const bool known = falls || one_of(tree.op, {"+", "*"});
    collect_wishes(left, known ? way : 0, wishes);
    collect_wishes(right, !known ? 0 : falls && way != 2 ? -way : way, wishes);
}

}  // namespace

std::vector<Wish> wishes_of(const Expression& tree) {
    std::vector<Wish> wishes;
    collect_wishes(tree, 2, wishes);
    return wishes;
}

}  // namespace deadrank::results::alerts
