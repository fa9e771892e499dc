// results/alerts/static_check.cpp — Existence: metrics against the profile, matchers against the labels, and
// what that means for the rule as a whole.
#include "results/alerts/static_check.h"

#include <algorithm>
#include <fmt/format.h>

#include "scenarios/model/vocabulary.h"

namespace deadrank::results::alerts {

namespace {

struct Context {
    const std::vector<Rule>& rules;
    const Emitted& emitted;
    const exporters::World& world;
    std::map<std::string, std::vector<std::size_t>> recorded = {};  // metric → recording rules
};

bool is_own_series(const std::string& name) { return name == "ALERTS" || name == "ALERTS_FOR_STATE"; }

StaticFinding finding(const Rule& rule, std::string id, Weight weight, std::string says, std::string remedy) {
    return {std::move(id), weight,          rule.file,         rule.expr_line, 0,
            rule.name,     std::move(says), std::move(remedy), false};
}

std::string few(const std::set<std::string>& words) {
    std::vector<std::string> some;
    for (const std::string& word : words) {
        if (!word.empty() && some.size() < 4) some.push_back("'" + word + "'");
    }
    return fmt::format("{}{}", fmt::join(some, ", "), words.size() > 4 ? ", …" : "");
}

StaticFinding missing_metric(const Rule& rule, const std::string& name, const Context& context) {
    if (const exporters::Metric* known = context.world.catalog->find(name)) {
        const std::string shown = context.world.profile.shown_name(*known);
        if (context.world.profile.emits(*known) && shown != name) {
            const bool old = known->old == name;
            return finding(
                rule, "metric-renamed", Weight::error,
                fmt::format("'{}' is {}; this exporter shows '{}'", name,
                            old ? "a name of dcgm-exporter 1.x" : "mapped to another name here", shown),
                "write " + shown + (old ? ", or judge with --profile dcgm-1x" : ""));
        }
        return finding(rule, "metric-off", Weight::error,
                       fmt::format("'{}' {}", name, exporters::why_absent(context.world.profile, *known)),
                       "");
    }
    const std::string near = scenarios::nearest(name, context.world.catalog->names());
    const bool ours = name.starts_with("DCGM_") || name.starts_with("dcgm_") || name.starts_with("nccl_");
    return finding(rule, "metric-unknown", ours ? Weight::error : Weight::warning,
                   fmt::format("no exporter of this run emits '{}'", name),
                   near.empty() ? "" : "did you mean " + near + "?");
}

StaticFinding blocked_selector(const Rule& rule, const Selector& selector, const Matcher& matcher,
                               const Context& context) {
    const auto names = context.emitted.label_names(selector.metric);
    if (!names.contains(matcher.label)) {
        std::string near = scenarios::nearest(matcher.label, {names.begin(), names.end()});
        return finding(rule, "label-unknown", Weight::error,
                       fmt::format("{} has no label '{}'", selector.metric, matcher.label),
                       near.empty() ? fmt::format("it has {}", few(names)) : "did you mean " + near + "?");
    }
    const auto values = context.emitted.label_values(selector.metric, matcher.label);
    const bool site = matcher.label == "job" || matcher.label == "instance" || matcher.label == "Hostname";
    return finding(rule, "label-value", Weight::error,
                   fmt::format("nothing emits {}{{{}{}\"{}\"}}", selector.metric, matcher.label, matcher.op,
                               matcher.value),
                   fmt::format("here it is {}{}", few(values),
                               site ? "; say what yours are called in a name map (--map)" : ""));
}

// Judges existence of one rule; returns by branch whether it can still fire.
void check_existence(const Rule& rule, const Context& context, RuleReads& out,
                     std::vector<StaticFinding>& findings) {
    std::vector<bool> dead(static_cast<std::size_t>(out.reads.branches), false);
    std::set<std::string> said;
    for (const Selector& selector : out.reads.selectors) {
        if (selector.metric.empty() || is_own_series(selector.metric)) continue;
        if (context.recorded.contains(selector.metric)) continue;
        std::optional<StaticFinding> trouble;
        if (!context.emitted.has(selector.metric)) {
            trouble = missing_metric(rule, selector.metric, context);
            if (selector.absent) {
                trouble->weight = Weight::note;  // absent() of what is never there fires for ever: background
                trouble->id = "absent-always";
            }
        } else if (const Matcher* matcher = context.emitted.blocking(selector)) {
            trouble = blocked_selector(rule, selector, *matcher, context);
            if (selector.absent) trouble->weight = Weight::note;
        }
        if (!trouble) continue;
        if (!selector.absent && !selector.optional) {
            trouble->kills = true;
            dead[static_cast<std::size_t>(selector.branch)] = true;
            if (out.why_dead.empty()) out.why_dead = trouble->says;
        }
        if (said.insert(trouble->says).second) findings.push_back(std::move(*trouble));
    }
    out.dead = std::all_of(dead.begin(), dead.end(), [](bool one) { return one; });
    if (!out.dead) out.why_dead.clear();
}

// Metrics and reach through recording rules; `depth` ends circles, which Prometheus allows.
void follow(std::size_t index, const Context& context, const std::vector<RuleReads>& all, RuleReads& into,
            int depth) {
    for (const Selector& selector : all[index].reads.selectors) {
        into.metrics.insert(selector.metric);
        into.look_back = std::max(into.look_back, selector.range + selector.offset);
        into.everything = into.everything || all[index].reads.everything;
        const auto recorded = context.recorded.find(selector.metric);
        if (recorded == context.recorded.end() || depth > 8) continue;
        for (const std::size_t other : recorded->second) {
            follow(other, context, all, into, depth + 1);
            if (all[other].dead && !selector.absent && !selector.optional && into.why_dead.empty()) {
                into.dead = into.dead || all[index].reads.branches == 1;
                if (into.dead)
                    into.why_dead =
                        fmt::format("'{}' records nothing: {}", selector.metric, all[other].why_dead);
            }
        }
    }
}

}  // namespace

StaticAnalysis analyse(const std::vector<Rule>& rules, const Emitted& emitted,
                       const exporters::World& world) {
    StaticAnalysis analysis;
    Context context{rules, emitted, world};
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!rules[i].is_alert) context.recorded[rules[i].name].push_back(i);
    }
    for (const Rule& rule : rules) {
        RuleReads reads;
        reads.reads = scan(rule.expr);
        check_existence(rule, context, reads, analysis.findings);
        find_misuse(rule, reads.reads, emitted, analysis.findings);
        analysis.wanted.insert(reads.reads.identifiers.begin(), reads.reads.identifiers.end());
        analysis.everything = analysis.everything || reads.reads.everything;
        analysis.rules.push_back(std::move(reads));
    }
    // Recording rules first may lean on others: two passes settle chains of the usual length.
    for (int pass = 0; pass < 2; ++pass) {
        for (std::size_t i = 0; i < rules.size(); ++i) {
            RuleReads followed = analysis.rules[i];
            follow(i, context, analysis.rules, followed, 0);
            analysis.rules[i] = std::move(followed);
        }
    }
    for (const RuleReads& one : analysis.rules)
        analysis.look_back = std::max(analysis.look_back, one.look_back);
    return analysis;
}

}  // namespace deadrank::results::alerts
