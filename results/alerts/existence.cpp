// results/alerts/existence.cpp — Can this expression ever have a value here? Worked out over label sets
// instead of samples: a selector is the label sets that it can match, a join those that meet.
#include <algorithm>
#include <cctype>
#include <fmt/format.h>

#include "results/alerts/static_check.h"
#include "results/record/words.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::results::alerts {

namespace {

using exporters::Labels;
using Kind = Expression::Kind;

// The join key of a series, under on (…) or ignoring (…).
Labels key_of(const Expression& tree, const Labels& labels) {
    if (!tree.matched) return labels;
    Labels key;
    for (const auto& [name, value] : labels) {
        if (has(tree.labels, name) != tree.without) key[name] = value;
    }
    return key;
}

bool is_comparison(const std::string& op) { return one_of(op, {"==", "!=", ">", "<", ">=", "<="}); }

// Does this selector ask for a label or a job that only a Prometheus Operator gives?
bool wants_operator(const Selector& selector, const exporters::Metric& metric,
                    const exporters::Profile& there) {
    const auto target = there.kubernetes.find(metric.exporter);
    return std::any_of(selector.matchers.begin(), selector.matchers.end(), [&](const Matcher& matcher) {
        if (one_of(matcher.label, {"namespace", "service", "pod", "container", "endpoint"}))
            return !metric.labels.contains(matcher.label) && !fits(matcher, "");
        return matcher.label == "job" && target != there.kubernetes.end() && !fits(matcher, metric.job) &&
               fits(matcher, target->second.at("job"));
    });
}

}  // namespace

std::string kubernetes_reason(const std::vector<RuleFile>& files, const exporters::World& world) {
    exporters::Profile there = world.profile;
    exporters::put_in_kubernetes(there, *world.catalog);
    for (const RuleFile& file : files) {
        if (file.resource) return file.path + " is a PrometheusRule, which a Prometheus Operator loads";
        for (const Rule& rule : file.rules) {
            for (const Selector& selector : scan(rule.expr).selectors) {
                const exporters::Metric* metric = world.catalog->find(selector.metric);
                if (metric != nullptr && wants_operator(selector, *metric, there))
                    return fmt::format("{} asks {} for what only a Prometheus Operator gives its targets",
                                       rule.name, selector.metric);
            }
        }
    }
    return {};
}

void Existence::tell(const std::string& id, Weight weight, DeadKind kind, std::string says,
                     std::string remedy) {
    if (depth_ > 0) return;  // reported with the recording rule itself
    for (const StaticFinding& one : said_) {
        if (one.says == says) return;
    }
    said_.push_back({quiet_ > 0 && id.starts_with("metric") ? "absent-always" : id,
                     quiet_ > 0 ? Weight::note : weight, rule_->file, rule_->expr_line, 0, rule_->name,
                     std::move(says), std::move(remedy), false, kind});
}

Existence::Shape Existence::nothing(const std::string& id, Weight weight, DeadKind kind, std::string says,
                                    std::string remedy) {
    tell(id, weight, kind, says, remedy);
    return {.kind = kind, .why = std::move(says), .remedy = std::move(remedy)};
}

Existence::Shape Existence::no_metric(const std::string& name) {
    const exporters::MetricCatalog& catalog = *world_.catalog;
    const exporters::Profile& profile = world_.profile;
    if (const exporters::Metric* known = catalog.find(name)) {
        const std::string shown = profile.shown_name(*known);
        if (profile.emits(*known) && shown != name) {
            const bool old = known->old == name;
            return nothing(
                "metric-renamed", Weight::error, DeadKind::named_otherwise,
                fmt::format("'{}' is {}; this exporter shows '{}'", name,
                            old ? "a name of dcgm-exporter 1.x" : "mapped to another name here", shown),
                "write " + shown + (old ? ", or judge with --profile dcgm-1x" : ""));
        }
        const bool here = profile.exporters.contains(known->exporter);
        return nothing("metric-off", Weight::error, here ? DeadKind::off_by_default : DeadKind::not_simulated,
                       fmt::format("'{}' {}", name, exporters::why_absent(profile, *known)), "");
    }
    if (const auto renamed = catalog.renamed(name)) {
        return nothing("metric-renamed", Weight::error, DeadKind::named_otherwise,
                       fmt::format("'{}' has been called '{}' since {}", name, renamed->now,
                                   renamed->since.empty() ? "an earlier release" : renamed->since),
                       "write " + renamed->now);
    }
    if (name.find(':') != std::string::npos) {
        return nothing(
            "record-missing", Weight::warning, DeadKind::nobody,
            fmt::format("'{}' is named as recorded metrics are, and no rule given here records it", name),
            "give the file that records it as well (--rules takes a directory)");
    }
    const std::string near = slip_of(name, catalog.names());
    const std::string whose = catalog.other_exporter(name);
    if (catalog.real.contains(name)) {
        return nothing("exporter-unknown", Weight::note, DeadKind::not_simulated,
                       fmt::format("'{}' comes from {}, where it is switched on", name, whose),
                       "describe it in a table of your own (--metrics)");
    }
    const bool of_ours = name.starts_with("DCGM_") || name.starts_with("dcgm_") ||
                         name.starts_with("node_") || name.starts_with("nccl_") ||
                         name.starts_with("training_");
    if (!near.empty() && (of_ours || whose.empty() || is_same_but_for_a_slip(near, name))) {
        return nothing("metric-unknown", of_ours ? Weight::error : Weight::warning, DeadKind::misspelled,
                       fmt::format("no exporter of this run emits '{}'", name), "did you mean " + near + "?");
    }
    if (!whose.empty()) {
        return nothing("exporter-unknown", Weight::note, DeadKind::not_simulated,
                       fmt::format("'{}' comes from {}, which is not simulated", name, whose),
                       "describe its metrics in a table of your own (--metrics)");
    }
    return nothing("metric-unknown", Weight::warning, DeadKind::nobody,
                   fmt::format("no exporter that is known emits '{}'", name),
                   "describe it in a table of your own (--metrics), or map it to ours (--map)");
}

Existence::Shape Existence::of_recorded(const std::string& name, const Selector& selector) {
    if (const auto known = recorded_.find(name); known != recorded_.end()) {
        Shape fitting = known->second;
        std::erase_if(fitting.series, [&](const Labels& labels) { return !fits(selector, labels); });
        if (fitting.empty() && fitting.why.empty()) {
            return nothing("label-value", Weight::error, DeadKind::contradiction,
                           fmt::format("'{}' records no series that fits its matchers", name), "");
        }
        if (fitting.empty())
            tell("records-nothing", Weight::warning, fitting.kind,
                 fmt::format("'{}' records nothing: {}", name, fitting.why), fitting.remedy);
        return fitting;
    }
    recorded_[name] = {.unknown = true};  // a cycle, which Prometheus allows, leaves it unknown
    Shape all;
    ++depth_;
    for (const Rule& rule : rules_) {
        if (rule.is_alert || rule.name != name) continue;
        const auto tree = parse_expression(rule.expr);
        Shape one = tree && depth_ < 12 ? shape_of(*tree) : Shape{.unknown = true};
        if (one.scalar) one.series.push_back({});
        for (Labels& labels : one.series) {
            for (const auto& [label, value] : rule.labels) labels[label] = value;
        }
        all.unknown = all.unknown || one.unknown;
        all.series.insert(all.series.end(), one.series.begin(), one.series.end());
        if (all.why.empty()) all.kind = one.kind, all.why = one.why, all.remedy = one.remedy;
    }
    --depth_;
    recorded_[name] = std::move(all);
    return of_recorded(name, selector);
}

Existence::Shape Existence::of_selector(const Selector& selector) {
    if (selector.metric.empty() || selector.metric == "ALERTS" || selector.metric == "ALERTS_FOR_STATE")
        return {.unknown = true};
    const bool recorded = std::any_of(rules_.begin(), rules_.end(), [&](const Rule& one) {
        return !one.is_alert && one.name == selector.metric;
    });
    if (recorded) return of_recorded(selector.metric, selector);
    if (!emitted_.has(selector.metric)) return no_metric(selector.metric);
    Shape shape{.series = emitted_.matching(selector)};
    if (!shape.series.empty()) return shape;
    const Matcher* matcher = emitted_.blocking(selector);
    return matcher ? no_series(selector, *matcher) : Shape{.unknown = true};
}

Existence::Shape Existence::of_call(const Expression& tree) {
    if (one_of(tree.op, {"absent", "absent_over_time"})) {
        ++quiet_;
        for (const auto& arg : tree.args) shape_of(*arg);
        --quiet_;
        return {.unknown = true};
    }
    if (one_of(tree.op, {"time", "pi", "scalar"})) {
        for (const auto& arg : tree.args) shape_of(*arg);
        return {.scalar = true};
    }
    if (tree.op == "vector" || tree.args.empty()) return {.series = {{}}};
    Shape result{.scalar = true};
    for (const auto& arg : tree.args) {
        if (arg->kind == Kind::text || arg->kind == Kind::number) continue;
        Shape one = shape_of(*arg);
        if (one.empty()) return one;
        if (!one.scalar) result = std::move(one);
    }
    if (one_of(tree.op, {"label_replace", "label_join"})) return {.unknown = true};
    if (tree.op == "histogram_quantile") {
        for (Labels& labels : result.series) labels.erase("le");
    }
    return result;
}

Existence::Shape Existence::of_aggregate(const Expression& tree) {
    if (tree.args.empty()) return {.unknown = true};
    Shape inner = shape_of(*tree.args.back());
    if (tree.op == "count_values") return inner.empty() ? inner : Shape{.unknown = true};
    if (inner.empty() || inner.unknown || one_of(tree.op, {"topk", "bottomk", "limitk", "limit_ratio"}))
        return inner;
    std::set<Labels> groups;
    for (const Labels& labels : inner.series) {
        Labels kept;
        for (const auto& [name, value] : labels) {
            if (tree.matched && has(tree.labels, name) != tree.without) kept[name] = value;
        }
        groups.insert(std::move(kept));
    }
    return {.series = {groups.begin(), groups.end()}};
}

Existence::Shape Existence::joined(const Expression& tree, const Shape& left, const Shape& right) {
    const bool sets = tree.op == "and";
    std::map<Labels, int> there;
    for (const Labels& labels : right.series) ++there[key_of(tree, labels)];
    Shape met;
    std::map<Labels, int> here;
    bool many_left = false, many_right = false;
    for (const Labels& labels : left.series) {
        const Labels key = key_of(tree, labels);
        const auto at = there.find(key);
        if (at == there.end()) continue;
        many_right = many_right || at->second > 1;
        many_left = many_left || ++here[key] > 1;
        met.series.push_back(sets || tree.group == "group_left" || !tree.matched ? labels : key);
    }
    if (met.series.empty()) {
        return nothing(
            "join-never", Weight::error, DeadKind::contradiction,
            fmt::format("the two sides of '{}' never have the same labels{}, so that it has no value",
                        tree.op,
                        tree.matched ? fmt::format(" ({} ({}))", tree.without ? "ignoring" : "on",
                                                   fmt::join(tree.labels, ", "))
                                     : ""),
            "join by labels that both have, on (…); an instance holds the port of its exporter");
    }
    const bool refused =
        !sets && ((tree.group.empty() && (many_left || many_right)) ||
                  (tree.group == "group_left" && many_right) || (tree.group == "group_right" && many_left));
    if (refused && !left.unknown && !right.unknown) {
        tell("join-many", Weight::warning, DeadKind::none,
             fmt::format(
                 "several series on {} of '{}' have the same labels to match by: Prometheus then refuses to "
                 "evaluate the rule",
                 many_left && many_right ? "both sides"
                 : many_left             ? "the left"
                                         : "the right",
                 tree.op),
             "aggregate first, or add labels to on (…), or group_left");
    }
    if (tree.group == "group_left" || tree.group == "group_right") met.unknown = true;
    return met;
}

Existence::Shape Existence::of_binary(const Expression& tree) {
    Shape left = shape_of(*tree.args[0]);
    if (tree.op == "unless") {
        shape_of(*tree.args[1]);
        return left;
    }
    Shape right = shape_of(*tree.args[1]);
    if (tree.op == "or") {
        if (left.empty()) return right;
        if (right.empty()) return left;
        left.unknown = left.unknown || right.unknown;
        // From the right side only what the left one lacks.
        std::set<Labels> there;
        for (const Labels& labels : left.series) there.insert(key_of(tree, labels));
        for (const Labels& labels : right.series) {
            if (!there.contains(key_of(tree, labels))) left.series.push_back(labels);
        }
        return left;
    }
    if (left.empty()) return left;
    if (right.empty()) return right;
    if (is_comparison(tree.op) && !tree.boolean) check_threshold(tree);
    if (left.scalar && right.scalar) return {.scalar = true};
    if (left.scalar) return right;
    if (right.scalar) return left;
    if (left.unknown || right.unknown) return {.unknown = true};
    return joined(tree, left, right);
}

// A metric compared with a threshold that it can never pass.
void Existence::check_threshold(const Expression& tree) {
    const Expression* side = tree.args[0].get();
    const Expression* number = tree.args[1].get();
    if (number->kind != Kind::number) return;
    while ((side->kind == Kind::call && side->op.ends_with("_over_time") &&
            one_of(side->op, {"avg_over_time", "min_over_time", "max_over_time", "last_over_time"})) ||
           (side->kind == Kind::aggregate && one_of(side->op, {"avg", "min", "max"}))) {
        if (side->args.empty()) return;
        side = side->args.back().get();
    }
    if (side->kind != Kind::selector) return;
    const exporters::Metric* metric = emitted_.metric(side->selector.metric);
    if (metric == nullptr) return;
    const double x = number->number;
    const bool never = (tree.op == ">" && x >= metric->most) || (tree.op == ">=" && x > metric->most) ||
                       (tree.op == "<" && x <= metric->least) || (tree.op == "<=" && x < metric->least) ||
                       (tree.op == "==" && (x > metric->most || x < metric->least));
    if (!never) return;
    tell("threshold-out-of-reach", Weight::error, DeadKind::contradiction,
         fmt::format("{} is never {} {}: it lies between {} and {}", side->selector.metric, tree.op, x,
                     metric->least, metric->most),
         metric->most == 1 && x > 1 ? "it is a ratio, not a percentage"
                                    : "compare with a value that it can have");
}

Existence::Shape Existence::shape_of(const Expression& tree) {
    switch (tree.kind) {
        case Kind::number:
        case Kind::text:
            return {.scalar = true};
        case Kind::selector:
            return of_selector(tree.selector);
        case Kind::call:
            return of_call(tree);
        case Kind::aggregate:
            return of_aggregate(tree);
        case Kind::binary:
            return of_binary(tree);
        case Kind::negative:
        case Kind::subquery:
            return shape_of(*tree.args[0]);
    }
    return {.unknown = true};
}

void Existence::check(const Rule& rule, RuleReads& out, std::vector<StaticFinding>& findings) {
    rule_ = &rule;
    said_.clear();
    const auto tree = parse_expression(rule.expr);
    if (!tree) return;
    const Shape shape = shape_of(*tree);
    out.wishes = wishes_of(*tree);
    out.dead = shape.empty();
    if (out.dead) {
        out.dead_kind = shape.kind;
        out.why_dead = shape.why;
        out.remedy = shape.remedy;
    }
    for (StaticFinding& one : said_) {
        one.kills = out.dead && one.says.find(out.why_dead) != std::string::npos;
        findings.push_back(std::move(one));
    }
}

}  // namespace deadrank::results::alerts
