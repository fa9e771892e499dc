// results/alerts/presence.cpp — One promtool run over constant series: half an hour of them, so that ranges
// of minutes hold samples.
#include "results/alerts/presence.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <regex>

#include "results/alerts/test_file.h"
#include "results/exporters/toml_file.h"
#include "results/record/words.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::results::alerts {

namespace {

constexpr double asked_at = 1800, scraped_every = 15, reach_most = 1500;

bool has_comparison(const std::string& expr) {
    const auto tokens = tokens_of(expr);
    return std::any_of(tokens.begin(), tokens.end(), [](const Token& token) {
        return token.kind == Token::Kind::sign && one_of(token.text, {"==", "!=", ">", "<", ">=", "<="});
    });
}

// Recorded metrics whose series in this world say nothing about those of a failure.
std::set<std::string> uncertain(const std::vector<Rule>& rules, const StaticAnalysis& analysis) {
    std::set<std::string> names;
    for (bool more = true; more;) {
        more = false;
        for (std::size_t i = 0; i < rules.size(); ++i) {
            const RuleReads& reads = analysis.rules[i];
            if (rules[i].is_alert || names.contains(rules[i].name)) continue;
            const bool kept = without_thresholds(rules[i].expr).empty() && has_comparison(rules[i].expr);
            const bool of_others = std::any_of(names.begin(), names.end(),
                                               [&](const auto& one) { return reads.metrics.contains(one); });
            if (kept || of_others || reads.states || reads.look_back > reach_most)
                more = names.insert(rules[i].name).second;
        }
    }
    return names;
}

// What is asked of each selector and of each alert: the query, and whose it is.
struct PresenceQueries {
    std::map<std::string, std::string> selectors;            // query → selector
    std::map<std::string, std::vector<std::size_t>> values;  // query → rules
    struct Label {
        std::string name;
        std::vector<std::size_t> rules;
    };
    std::map<std::string, Label> labels;  // query by a label → rules whose templates name it
};

// The labels that the templates of an alert name: {{ $labels.node }}, {{ .Labels.node }}.
std::set<std::string> labels_in_templates(const Rule& rule) {
    static const std::regex used(R"((?:\$labels|\.Labels)\.([a-zA-Z_][a-zA-Z0-9_]*))");
    std::set<std::string> names;
    for (const auto* texts : {&rule.annotations, &rule.labels}) {
        for (const auto& [key, whole] : *texts) {
            const std::string text = whole.substr(0, 4096);
            for (std::sregex_iterator match(text.begin(), text.end(), used), end; match != end; ++match)
                names.insert((*match)[1]);
        }
    }
    return names;
}

PresenceQueries collect_queries(const std::vector<Rule>& rules, const StaticAnalysis& analysis) {
    PresenceQueries asked;
    const std::set<std::string> unclear = uncertain(rules, analysis);
    std::set<std::string> recorded;
    for (const Rule& rule : rules) {
        if (!rule.is_alert) recorded.insert(rule.name);
    }
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const RuleReads& reads = analysis.rules[i];
        bool clear = !reads.states && reads.look_back <= reach_most && rules[i].is_alert;
        for (const Selector& one : reads.reads.selectors) {
            if (one.metric.empty() || one.metric.starts_with("ALERTS") || unclear.contains(one.metric)) {
                clear = false;
                continue;
            }
            asked.selectors["count(" + one.text + ")"] = one.text;
            clear = clear && !(recorded.contains(one.metric) && one.range > 0);
        }
        const std::string any = clear ? without_thresholds(rules[i].expr) : "";
        if (any.empty()) continue;
        asked.values["count(" + any + ")"].push_back(i);
        for (const std::string& label : labels_in_templates(rules[i])) {
            auto& one = asked.labels["count by (" + label + ") (" + any + ")"];
            one.name = label;
            one.rules.push_back(i);
        }
    }
    return asked;
}

}  // namespace

std::string presence_rules(const std::vector<Rule>& rules) {
    std::vector<Rule> recording = rules;
    std::vector<bool> kept(rules.size());
    for (std::size_t i = 0; i < rules.size(); ++i) {
        kept[i] = !rules[i].is_alert;
        const std::string any = without_thresholds(rules[i].expr);
        if (!any.empty()) recording[i].expr = any;
    }
    return rules_text(recording, kept, {});
}

std::string presence_test(const std::vector<Rule>& rules, const StaticAnalysis& analysis,
                          const Emitted& emitted, const std::string& rules_file) {
    std::set<std::string> names;
    for (const RuleReads& reads : analysis.rules) names.insert(reads.names.begin(), reads.names.end());
    std::string block;
    const std::string values = fmt::format("1+0x{}", static_cast<int>(asked_at / scraped_every));
    for (const std::string& text : emitted.series_of(names))
        block += "  - series: " + in_single_quotes(text) + "\n    values: '" + values + "'\n";
    exporters::Window window{.duration = asked_at, .scrape = scraped_every, .eval = asked_at};
    const TestInput input{{rules_file}, "what there is", block, window, asked_at, groups_of(rules)};
    const PresenceQueries asked = collect_queries(rules, analysis);
    std::vector<Expectation> expectations;
    for (const auto& [query, selector] : asked.selectors) expectations.push_back({query, asked_at, {}});
    for (const auto& [query, whose] : asked.values) expectations.push_back({query, asked_at, {}});
    for (const auto& [query, whose] : asked.labels) expectations.push_back({query, asked_at, {}});
    return kept_test(input, expectations,
                     "# Which selectors have series, and which rules can have a value.\n");
}

Presence presence_of(const external::TestAnswer& answer, const std::vector<Rule>& rules,
                     const StaticAnalysis& analysis) {
    PresenceQueries asked = collect_queries(rules, analysis);
    Presence presence{.valueless = std::vector<bool>(rules.size(), false)};
    for (const external::Mismatch& one : answer.mismatches) {  // it has a value, or no answer
        asked.selectors.erase(one.expr);
        asked.values.erase(one.expr);
        const auto label = asked.labels.find(one.expr);
        if (label == asked.labels.end() || one.got.empty()) continue;
        const bool there = std::any_of(one.got.begin(), one.got.end(), [&](const external::Sample& sample) {
            return sample.labels.contains(label->second.name);
        });
        for (const std::size_t rule : label->second.rules)
            if (!there) presence.lost.emplace(rule, label->second.name);
    }
    for (const auto& [query, selector] : asked.selectors) presence.empty.insert(selector);
    for (const auto& [query, whose] : asked.values) {
        for (const std::size_t rule : whose) presence.valueless[rule] = true;
    }
    return presence;
}

// ── Thresholds out of reach: each series lies half an hour at its metric's least and then half an hour at
// its most. An expression that rises or falls with one metric alone has its extremes there.

namespace {

// Calls whose value lies between the values that they are given, or rises and falls with them.
bool keeps_order(const Token& token) {
    return one_of(lowered(token.text), {"avg",
                                        "min",
                                        "max",
                                        "sum",
                                        "quantile",
                                        "topk",
                                        "bottomk",
                                        "avg_over_time",
                                        "min_over_time",
                                        "max_over_time",
                                        "last_over_time",
                                        "quantile_over_time",
                                        "label_replace",
                                        "label_join",
                                        "round",
                                        "floor",
                                        "ceil",
                                        "sort",
                                        "sort_desc",
                                        "by",
                                        "without"});
}

// The metric with bounds whose values alone decide that side of the threshold; nullptr otherwise.
const exporters::Metric* bounded_metric(const Threshold& threshold, const Emitted& emitted) {
    const Reads side = scan(threshold.left);
    if (!threshold.number || threshold.op == Comparison::unequal || side.selectors.size() != 1)
        return nullptr;
    const Selector& selector = side.selectors[0];
    const exporters::Metric* metric = emitted.metric(selector.metric);
    if (metric == nullptr || !std::isfinite(metric->least) || !std::isfinite(metric->most) ||
        selector.absent || selector.range + selector.offset + selector.outer > reach_most)
        return nullptr;
    const std::string outside = without_selector(threshold.left, selector.text);
    for (const Token& token : tokens_of(outside)) {
        const bool label = has(side.grouping, token.text);
        if (token.kind == Token::Kind::word && !label && !keeps_order(token)) return nullptr;
        if (one_of(token.text, {"%", "^", "==", "!=", "<", ">", "<=", ">="})) return nullptr;
    }
    return metric;
}

// Query → the thresholds that are out of reach if it never has a value. `x == 3` is where neither `x >= 3`
// nor `x <= 3` is.
using ReachQueries = std::map<std::string, std::set<std::pair<std::size_t, std::size_t>>>;

ReachQueries reach_queries(const StaticAnalysis& analysis, const Emitted& emitted) {
    ReachQueries queries;
    for (std::size_t i = 0; i < analysis.rules.size(); ++i) {
        const auto& thresholds = analysis.rules[i].thresholds;
        for (std::size_t k = 0; k < thresholds.size(); ++k) {
            const Threshold& one = thresholds[k];
            if (bounded_metric(one, emitted) == nullptr) continue;
            const bool equal = one.op == Comparison::equal;
            for (const Comparison op :
                 equal ? std::vector{Comparison::at_least, Comparison::at_most} : std::vector{one.op})
                queries[fmt::format("count(({}) {} {})", one.left, scenarios::enum_name(op), one.limit)]
                    .emplace(i, k);
        }
    }
    return queries;
}

}  // namespace

std::string reach_test(const StaticAnalysis& analysis, const Emitted& emitted) {
    const ReachQueries queries = reach_queries(analysis, emitted);
    if (queries.empty()) return {};
    std::map<std::string, const exporters::Metric*> metrics;
    for (const RuleReads& rule : analysis.rules) {
        for (const Threshold& one : rule.thresholds) {
            if (const exporters::Metric* metric = bounded_metric(one, emitted))
                metrics[scan(one.left).selectors[0].metric] = metric;
        }
    }
    const auto steps = static_cast<int>(asked_at / scraped_every);
    std::string block;
    for (const auto& [name, metric] : metrics) {
        const std::string values = fmt::format("{}+0x{} {}+0x{}", exporters::number_text(metric->least),
                                               steps, exporters::number_text(metric->most), steps);
        for (const std::string& text : emitted.series_of({name}))
            block += "  - series: " + in_single_quotes(text) + "\n    values: '" + values + "'\n";
    }
    exporters::Window window{.duration = 2 * asked_at, .scrape = scraped_every, .eval = asked_at};
    const TestInput input{{}, "the least and the most of each metric", block, window, asked_at, {}};
    std::vector<Expectation> expectations;
    for (const auto& [query, whose] : queries) {
        for (const double time : {asked_at, 2 * asked_at}) expectations.push_back({query, time, {}});
    }
    return kept_test(input, expectations, "# Which thresholds a metric can pass.\n");
}

void find_unreached(const external::TestAnswer& answer, const StaticAnalysis& analysis,
                    const Emitted& emitted, Presence& presence) {
    if (!answer.load.empty() || !answer.rules.empty() || !answer.other.empty()) return;
    ReachQueries queries = reach_queries(analysis, emitted);
    for (const external::Mismatch& one : answer.mismatches) queries.erase(one.expr);
    for (const auto& [query, whose] : queries) presence.beyond.insert(whose.begin(), whose.end());
}

// ── Why a selector matches nothing, and whose matter that is.

namespace {

struct Why {
    std::string id;
    Weight weight = Weight::warning;
    DeadKind kind = DeadKind::none;
    std::string says, remedy;
    std::string slip = {}, meant = {};
};

// Labels whose values the exporter defines. All others hold what a site calls its own things.
bool of_the_exporter(const std::string& label) {
    return one_of(label, {"mode",      "state",  "status",     "condition", "phase",      "reason",
                          "resource",  "code",   "err_code",   "xid",       "quantile",   "le",
                          "collector", "verb",   "type",       "result",    "health",     "operation",
                          "fstype",    "reason", "event_type", "severity",  "link_layer", "rule_result"});
}

std::string quote_first(const std::set<std::string>& words) {
    std::vector<std::string> some;
    for (const std::string& word : words) {
        if (!word.empty() && some.size() < 4) some.push_back("'" + word + "'");
    }
    return fmt::format("{}{}", fmt::join(some, ", "), words.size() > 4 ? ", …" : "");
}

const std::vector<std::string>& host_labels() {
    static const std::vector<std::string> words = {
        "instance", "Hostname",          "hostname",  "node",   "kubernetes_node", "nodename",
        "host",     "exported_instance", "node_name", "server", "machine",         "exported_node"};
    return words;
}

// The corresponding label here: exporters, releases and relabelling differ in their names.
std::string other_word(const std::string& label, const std::set<std::string>& there) {
    static const std::vector<std::vector<std::string>> groups = {
        host_labels(),
        {"gpu", "GPU", "device", "gpu_id", "minor_number", "index", "gpu_index", "gpu_uuid", "UUID", "uuid"},
        {"err_code", "error_code", "xid", "code"},
        {"namespace", "kubernetes_namespace", "exported_namespace", "pod_namespace"},
        {"pod", "pod_name", "kubernetes_pod_name", "exported_pod"},
        {"container", "container_name", "exported_container"},
        {"modelName", "model_name", "gpu_name", "name"}};
    for (const std::string& word : there) {
        if (lowered(word) == lowered(label)) return word;
    }
    for (const auto& group : groups) {
        if (!has(group, label)) continue;
        for (const std::string& word : group) {
            if (there.contains(word)) return word;
        }
    }
    return {};
}

class Explanation {
public:
    Explanation(const Emitted& emitted, const exporters::World& world) : emitted_(emitted), world_(world) {}

    Why of(const Selector& selector) const {
        if (!emitted_.has(selector.metric)) return no_metric(selector.metric);
        const Matcher* matcher = emitted_.blocking(selector);
        if (matcher != nullptr) return no_series(selector, *matcher);
        return {"label-value", Weight::warning, DeadKind::your_names,
                fmt::format("nothing emits {}", selector.text),
                "say what yours are called in a name map (--map)"};
    }

private:
    Why no_metric(const std::string& name) const;
    Why no_label(const Selector& selector, const Matcher& matcher, const std::set<std::string>& names) const;
    Why no_series(const Selector& selector, const Matcher& matcher) const;

    const Emitted& emitted_;
    const exporters::World& world_;
};

// "vllm:num_requests_running": a few exporters use the colon that recorded metrics have.
bool has_exporter_colon(const std::string& name, const exporters::MetricCatalog& catalog) {
    return std::any_of(catalog.others.begin(), catalog.others.end(), [&](const auto& other) {
        return std::any_of(other.prefixes.begin(), other.prefixes.end(), [&](const std::string& prefix) {
            return prefix.ends_with(':') && name.starts_with(prefix);
        });
    });
}

Why Explanation::no_metric(const std::string& name) const {
    const exporters::MetricCatalog& catalog = *world_.catalog;
    const exporters::Profile& profile = world_.profile;
    if (const exporters::Metric* known = catalog.find(name)) {
        const std::string shown = profile.shown_name(*known);
        if (profile.emits(*known) && shown != name) {
            const bool old = known->old == name;
            return {"metric-renamed", Weight::error, DeadKind::named_otherwise,
                    fmt::format("'{}' is {}; this exporter shows '{}'", name,
                                old ? "a name of dcgm-exporter 1.x" : "mapped to another name here", shown),
                    "write " + shown + (old ? ", or judge with --profile dcgm-1x" : "")};
        }
        const bool here = profile.exporters.contains(known->exporter);
        return {"metric-off", Weight::error, here ? DeadKind::off_by_default : DeadKind::not_simulated,
                fmt::format("'{}' {}", name, exporters::why_absent(profile, *known)), ""};
    }
    if (const auto renamed = catalog.renamed(name)) {
        return {"metric-renamed", Weight::error, DeadKind::named_otherwise,
                fmt::format("'{}' has been called '{}' since {}", name, renamed->now,
                            renamed->since.empty() ? "an earlier release" : renamed->since),
                "write " + renamed->now};
    }
    if (name.find(':') != std::string::npos && !has_exporter_colon(name, catalog)) {
        return {"record-missing", Weight::warning, DeadKind::nobody,
                fmt::format("'{}' is named as recorded metrics are, and no rule given here records it", name),
                "give the file that records it as well (--rules takes a directory)"};
    }
    const std::string near = find_typo(name, catalog.names());
    const std::string whose = catalog.other_exporter(name);
    if (catalog.real.contains(name)) {
        return {"exporter-unknown", Weight::note, DeadKind::not_simulated,
                fmt::format("'{}' comes from {}, where it is switched on", name, whose),
                "describe it in a table of your own (--metrics)"};
    }
    const bool simulated = name.starts_with("DCGM_") || name.starts_with("dcgm_") ||
                           name.starts_with("node_") || name.starts_with("nccl_") ||
                           name.starts_with("training_");
    if (!near.empty() && (simulated || whose.empty() || differs_by_typo(near, name))) {
        return {"metric-unknown",
                simulated ? Weight::error : Weight::warning,
                DeadKind::misspelled,
                fmt::format("no exporter of this run emits '{}'", name),
                "did you mean " + near + "?",
                name,
                near};
    }
    if (!whose.empty()) {
        // "slurm_" of slurm_queue_jobs_pending: by its name it is from an exporter that others here are from.
        const std::string family = name.substr(0, name.find('_') + 1);
        const auto known = catalog.names();
        const bool here = std::any_of(known.begin(), known.end(),
                                      [&](const std::string& one) { return one.starts_with(family); });
        return {"exporter-unknown", Weight::note, DeadKind::not_simulated,
                here ? fmt::format("'{}' is named as metrics of {} are, and is none of those simulated here",
                                   name, whose)
                     : fmt::format("'{}' comes from {}, which is not simulated", name, whose),
                "describe its metrics in a table of your own (--metrics)"};
    }
    return {"metric-unknown", Weight::warning, DeadKind::nobody,
            fmt::format("'{}' is not known here, nor is its exporter", name),
            "describe it in a table of your own (--metrics), or map a known one to it (--map)"};
}

Why Explanation::no_label(const Selector& selector, const Matcher& matcher,
                          const std::set<std::string>& names) const {
    if (const auto* elsewhere = world_.catalog->label_elsewhere(selector.metric, matcher.label)) {
        return {"label-unknown", Weight::note,
                elsewhere->off ? DeadKind::off_by_default : DeadKind::not_simulated,
                fmt::format("the label '{}' of {} {}", matcher.label, selector.metric, elsewhere->says),
                "describe such series in a table of your own (--metrics)"};
    }
    const std::string says = fmt::format("{} has no label '{}'", selector.metric, matcher.label);
    if (one_of(matcher.label, {"namespace", "pod", "container", "exported_pod", "exported_namespace",
                               "exported_container", "service", "endpoint"})) {
        return {"label-unknown", Weight::warning, DeadKind::your_names, says,
                selector.metric.starts_with("DCGM_")
                    ? "dcgm-exporter adds it in Kubernetes: judge with --profile dcgm-kubernetes"
                    : "a Prometheus Operator adds it: judge with --profile kubernetes"};
    }
    const std::string other = other_word(matcher.label, names);
    if (!other.empty()) {
        const bool relabelled = has(host_labels(), matcher.label) && lowered(other) != lowered(matcher.label);
        return {"label-unknown", relabelled ? Weight::warning : Weight::error,
                relabelled ? DeadKind::your_names : DeadKind::named_otherwise, says,
                fmt::format("here it is called '{0}': write {0}, or rename it in a name map (--map)", other)};
    }
    const std::string near = scenarios::nearest(matcher.label, {names.begin(), names.end()});
    if (!near.empty())
        return {"label-unknown", Weight::error, DeadKind::misspelled, says, "did you mean " + near + "?"};
    return {
        "label-unknown", Weight::warning, DeadKind::your_names, says,
        fmt::format("it has {}; say in a name map (--map) what your relabelling adds", quote_first(names))};
}

Why Explanation::no_series(const Selector& selector, const Matcher& matcher) const {
    const auto names = emitted_.label_names(selector.metric);
    if (!names.contains(matcher.label)) return no_label(selector, matcher, names);
    const auto values = emitted_.label_values(selector.metric, matcher.label);
    const std::string whole = fmt::format("{}{{{}{}\"{}\"}}", selector.metric, matcher.label,
                                          scenarios::enum_name(matcher.op), matcher.value);
    if (!asks_for_values(matcher) && one_of(matcher.value, {".*", "^.*$", ".+"})) {
        return {"label-value", Weight::error, DeadKind::contradiction,
                whole + " excludes every value that there can be",
                "leave the matcher out, or name what is to be excluded"};
    }
    if (asks_for_values(matcher) && matcher.value.empty()) {
        return {"label-value", Weight::note, DeadKind::not_simulated,
                fmt::format("every {} of this run has the label '{}'", selector.metric, matcher.label),
                "describe such series in a table of your own (--metrics)"};
    }
    const std::string near =
        matcher.op == MatchOp::equal ? scenarios::nearest(matcher.value, {values.begin(), values.end()}) : "";
    const bool numbered = matcher.value.find_first_of("0123456789") != std::string::npos;
    const bool host = has(host_labels(), matcher.label) || matcher.label == "job";
    const bool slip =
        of_the_exporter(matcher.label) ? !near.empty() && !numbered : differs_by_typo(near, matcher.value);
    if (slip && !(host && numbered) && matcher.label != "job")
        return {"label-value", Weight::error, DeadKind::misspelled, "nothing emits " + whole,
                "did you mean \"" + near + "\"?"};
    if (of_the_exporter(matcher.label))
        return {"label-value", Weight::warning, DeadKind::not_simulated,
                fmt::format("nothing in this run emits {}: here it is {}", whole, quote_first(values)),
                "describe such series in a table of your own (--metrics)"};
    return {"label-value", Weight::note, DeadKind::your_names, "nothing in this run is called " + whole,
            matcher.label == "job" && selector.metric == "up"
                ? "add the target in a name map (--map), or a job that you call so"
                : fmt::format("here it is {}; say what yours are called in a name map (--map)",
                              quote_first(values))};
}

// Of two reasons the one that more would have to be changed for.
int finality(DeadKind kind) {
    switch (silence_of(kind)) {
        case Silence::never:
            return 3;
        case Silence::not_simulated:
            return 2;
        default:
            return kind == DeadKind::none ? 0 : 1;
    }
}

class Explainer {
public:
    Explainer(const std::vector<Rule>& rules, const Presence& presence, const Explanation& explanation,
              const Emitted& emitted, const exporters::World& world, StaticAnalysis& analysis)
        : rules_(rules),
          presence_(presence),
          explanation_(explanation),
          emitted_(emitted),
          world_(world),
          analysis_(analysis) {}

    void all() {
        find_short_records();
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            explain(i);
            explain_reach(i);
            explain_lost_labels(i);
        }
    }

private:
    bool empty(const Selector& one) const {
        return presence_.empty.contains(one.text) || has_short_range(one, world_.window.scrape) ||
               short_records_.contains(one.metric);
    }

    // Recorded metrics that have no value for the ranges that their rules ask for, or those of what they
    // read.
    void find_short_records() {
        for (bool more = true; more;) {
            more = false;
            std::map<std::string, bool> all;
            for (std::size_t i = 0; i < rules_.size(); ++i) {
                if (rules_[i].is_alert) continue;
                const bool lacks = why_silent(i, 0).kind == DeadKind::range_too_short;
                const auto [at, fresh] = all.emplace(rules_[i].name, lacks);
                at->second = at->second && lacks;
            }
            for (const auto& [name, lacks] : all)
                more = (lacks && short_records_.insert(name).second) || more;
        }
    }

    Why why(const Selector& selector, int depth) const {
        if (!presence_.empty.contains(selector.text) && has_short_range(selector, world_.window.scrape))
            return {
                "range-too-short", Weight::error, DeadKind::range_too_short,
                too_little_text(selector, world_.window.scrape),
                fmt::format("look back over {} or more", exporters::duration_text(4 * world_.window.scrape))};
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            if (rules_[i].is_alert || rules_[i].name != selector.metric) continue;
            const Why first = depth < 8 ? why_silent(i, depth + 1) : Why{};
            if (first.kind == DeadKind::none)
                return {"label-value", Weight::error, DeadKind::contradiction,
                        fmt::format("'{}' records no series that fits its matchers", selector.metric), ""};
            return {"records-nothing", Weight::warning, first.kind,
                    fmt::format("'{}' records nothing: {}", selector.metric, first.says), first.remedy};
        }
        return explanation_.of(selector);
    }

    Why why_silent(std::size_t index, int depth) const {
        const Reads& reads = analysis_.rules[index].reads;
        return why_silent(reads.need, reads.selectors, depth);
    }

    // Why this part has no value; none if it may have one. Of what is needed together the most final reason
    // counts, since no map helps beside a misspelling; of an `or` the least final one.
    Why why_silent(const Need& need, const std::vector<Selector>& selectors, int depth) const {
        if (need.of == Need::Of::selector) {
            const Selector& one = selectors[need.selector];
            return empty(one) ? why(one, depth) : Why{};
        }
        Why found;
        for (const Need& part : need.parts) {
            Why one = why_silent(part, selectors, depth);
            const bool silent = one.kind != DeadKind::none, any = need.of == Need::Of::any;
            if (any && !silent) return {};
            if (!silent) continue;
            const int more = finality(one.kind) - finality(found.kind);
            if (found.kind == DeadKind::none || (any ? more < 0 : more > 0)) found = std::move(one);
        }
        return found;
    }

    // A join that never meets here may meet where what is missing has series: the least final reason.
    Why why_unmet(const std::vector<Selector>& selectors) const {
        Why found;
        for (const Selector& one : selectors) {
            if (one.absent || !empty(one)) continue;
            Why reason = why(one, 0);
            if (found.kind == DeadKind::none || finality(reason.kind) < finality(found.kind))
                found = std::move(reason);
        }
        return silence_of(found.kind) == Silence::never ? Why{} : found;
    }

    void explain(std::size_t index) {
        RuleReads& reads = analysis_.rules[index];
        Why silent = why_silent(index, 0);
        const auto& selectors = reads.reads.selectors;
        const bool valueless = silent.kind == DeadKind::none && presence_.valueless[index];
        if (valueless) silent = why_unmet(selectors);
        if (valueless && silent.kind == DeadKind::none) {
            silent = {"join-never", Weight::error, DeadKind::contradiction,
                      "its sides never have the same labels, so that it has no value whatever its thresholds",
                      "join by labels that both have, on (…); an instance holds the port of its exporter"};
            add(index, silent, true, false);
        }
        reads.dead_kind = silent.kind;
        reads.why_dead = silent.says;
        reads.remedy = silent.remedy;
        reads.slip = silent.slip;
        reads.meant = silent.meant;
        explain_absence(index);
        std::set<std::string> said;
        for (const Selector& one : reads.reads.selectors) {
            if (!empty(one)) continue;
            const Why reason = why(one, 0);
            if (said.insert(reason.says).second) add(index, reason, reason.says == silent.says, one.absent);
        }
    }

    // Why the alert rings on a healthy cluster if what it expects to be there is not simulated. A target that
    // a rule misses is one of the site's that this run lacks.
    void explain_absence(std::size_t index) {
        RuleReads& reads = analysis_.rules[index];
        const auto& selectors = reads.reads.selectors;
        for (const Selector& one : selectors) {
            if (!(one.absent || one.excluding) || !empty(one)) continue;
            Why reason = why(one, 0);
            if (silence_of(reason.kind) == Silence::never) {  // it rings in production too
                reads.unseen = {};
                return;
            }
            if (reads.unseen.kind != DeadKind::none) continue;
            const Matcher* matcher = emitted_.blocking(one);
            const bool target = one.metric == "up" && matcher != nullptr && matcher->label == "job";
            reads.unseen = {target ? DeadKind::not_simulated : reason.kind, reason.says, reason.remedy,
                            false};
        }
        reads.unseen.all =
            std::all_of(selectors.begin(), selectors.end(), [&](const Selector& one) { return empty(one); });
    }

    // "DCGM_FI_DEV_GPU_UTIL is never > 110: it lies between 0 and 100 (…)"
    void explain_reach(std::size_t index) {
        RuleReads& reads = analysis_.rules[index];
        std::set<std::string> beyond;
        for (std::size_t k = 0; k < reads.thresholds.size(); ++k) {
            if (!presence_.beyond.contains({index, k})) continue;
            // Where there is no series, no value passes it either, and that is said already.
            const Reads side = scan(reads.thresholds[k].left);
            if (!side.selectors.empty() && !empty(side.selectors[0])) beyond.insert(reads.thresholds[k].text);
        }
        if (beyond.empty()) return;
        const bool never = fails_without(rules_[index].expr, beyond);
        for (const Threshold& one : reads.thresholds) {
            if (!beyond.contains(one.text)) continue;
            const exporters::Metric* metric = bounded_metric(one, emitted_);
            const std::string metric_name = scan(one.left).selectors[0].metric;
            const bool ratio = metric->most == 1 && is_upward(one.op);
            const Why why{
                "threshold-out-of-reach", Weight::error, DeadKind::out_of_reach,
                fmt::format("{} is never {} {}: {} lies between {} and {} ({})", one.left,
                            scenarios::enum_name(one.op), one.limit,
                            one.left == metric_name ? "it" : metric_name, metric->least, metric->most,
                            exporters::source_of_bounds(*metric)),
                ratio ? "it is a ratio, not a percentage" : "compare with a value that it can have"};
            const bool first = never && !reads.dead();
            if (first) reads.dead_kind = why.kind, reads.why_dead = why.says, reads.remedy = why.remedy;
            add(index, why, first, false);
        }
    }

    // A label that a template names and that the alert does not have is shown as an empty text.
    void explain_lost_labels(std::size_t index) {
        const Reads& reads = analysis_.rules[index].reads;
        for (const auto& [rule, label] : presence_.lost) {
            if (rule != index) continue;
            std::set<std::string> known;
            for (const Selector& one : reads.selectors) known.merge(emitted_.label_names(one.metric));
            const std::string near = scenarios::nearest(label, {known.begin(), known.end()});
            const bool own = rules_[index].labels.contains(label);
            const Why why{
                "label-lost", Weight::warning, DeadKind::none,
                fmt::format("a template names the label '{}', which the alert does not have there: it "
                            "is shown as nothing",
                            label),
                own ? "write the text itself: the rule's own labels are added after its templates are filled"
                : known.contains(label) ? fmt::format("keep it in the aggregation: by (…, {})", label)
                : near.empty()          ? ""
                                        : "did you mean " + near + "?"};
            add(index, why, false, false);
        }
    }

    void add(std::size_t index, const Why& why, bool kills, bool absent) {
        const Rule& rule = rules_[index];
        analysis_.findings.push_back({absent && why.id.starts_with("metric") ? "absent-always" : why.id,
                                      absent ? Weight::note : why.weight, rule.file, rule.expr_line, 0,
                                      rule.name, why.says, why.remedy, kills, why.kind});
    }

    const std::vector<Rule>& rules_;
    const Presence& presence_;
    const Explanation& explanation_;
    const Emitted& emitted_;
    const exporters::World& world_;
    StaticAnalysis& analysis_;
    std::set<std::string> short_records_;
};

}  // namespace

void explain_silence(const std::vector<Rule>& rules, const Presence& presence, const Emitted& emitted,
                     const exporters::World& world, StaticAnalysis& analysis) {
    const Explanation explanation(emitted, world);
    Explainer(rules, presence, explanation, emitted, world, analysis).all();
}

}  // namespace deadrank::results::alerts
