// results/alerts/healthy_memory.cpp — Which rules an incident can change. For all others the answer of the
// healthy run is reused.
#include "results/alerts/healthy_memory.h"

#include <algorithm>

namespace deadrank::results::alerts {

// ── What an expression sees: from the root down, whether the value of each part counts or only its
// existence.

namespace {

// Calls that have a value wherever their argument has samples.
bool keeps_existence(const std::string& call) {
    static const std::set<std::string_view> calls = {"rate",
                                                     "increase",
                                                     "irate",
                                                     "delta",
                                                     "idelta",
                                                     "deriv",
                                                     "changes",
                                                     "resets",
                                                     "avg_over_time",
                                                     "min_over_time",
                                                     "max_over_time",
                                                     "sum_over_time",
                                                     "last_over_time",
                                                     "abs",
                                                     "ceil",
                                                     "floor",
                                                     "round",
                                                     "exp",
                                                     "ln",
                                                     "log2",
                                                     "log10",
                                                     "sqrt",
                                                     "sgn",
                                                     "label_replace",
                                                     "label_join",
                                                     "sort",
                                                     "sort_desc",
                                                     "timestamp",
                                                     "predict_linear",
                                                     "stddev_over_time",
                                                     "stdvar_over_time",
                                                     "quantile_over_time"};
    return calls.contains(call);
}

bool compares(const Expression& tree) {
    return tree.kind == Expression::Kind::binary && one_of(tree.op, {"==", "!=", ">", "<", ">=", "<="});
}

void collect_sights(const Expression& tree, bool existence, std::vector<Sight>& sights) {
    const auto all = [&](bool inner) {
        for (const auto& arg : tree.args) collect_sights(*arg, inner, sights);
    };
    switch (tree.kind) {
        case Expression::Kind::selector:
            sights.push_back({tree.selector, existence});
            return;
        case Expression::Kind::aggregate: {
            const bool picks = one_of(tree.op, {"topk", "bottomk", "count_values", "limitk", "limit_ratio"});
            return all(one_of(tree.op, {"count", "group"}) || (existence && !picks));
        }
        case Expression::Kind::call:
            if (one_of(tree.op, {"absent", "absent_over_time", "present_over_time", "count_over_time"}))
                return all(true);
            return all(existence && keeps_existence(tree.op));
        case Expression::Kind::binary:
            if (one_of(tree.op, {"and", "unless"})) {
                collect_sights(*tree.args[0], existence, sights);
                return collect_sights(*tree.args[1], true, sights);
            }
            return all(existence && (!compares(tree) || tree.boolean));
        default:
            return all(existence);
    }
}

// Does each value of this expression have the name of the metric that alone it depends on?
bool tells_by_metric(const Expression& tree) {
    const auto number = [](const auto& arg) { return arg->kind == Expression::Kind::number; };
    switch (tree.kind) {
        case Expression::Kind::selector:
            return tree.selector.range == 0;
        case Expression::Kind::aggregate:
            return tree.matched && !tree.without && tree.op != "count_values" && !tree.args.empty() &&
                   std::find(tree.labels.begin(), tree.labels.end(), "__name__") != tree.labels.end() &&
                   std::all_of(tree.args.begin(), tree.args.end() - 1, number) &&
                   tells_by_metric(*tree.args.back());
        case Expression::Kind::call:
            return one_of(tree.op, {"label_replace", "label_join"}) && tree.args.size() > 1 &&
                   tree.args[1]->kind == Expression::Kind::text && tree.args[1]->op != "__name__" &&
                   tells_by_metric(*tree.args[0]);
        case Expression::Kind::binary:
            return compares(tree) && !tree.boolean &&
                   (number(tree.args[1]) ? tells_by_metric(*tree.args[0])
                                         : number(tree.args[0]) && tells_by_metric(*tree.args[1]));
        default:
            return false;
    }
}

bool tells_its_value(const Rule& rule) {
    return std::any_of(rule.labels.begin(), rule.labels.end(), [](const auto& label) {
        const auto has = [&](const char* text) { return label.second.find(text) != std::string::npos; };
        return has("{{") && (has("alue") || !has("$labels"));
    });
}

}  // namespace

RuleSights sights_of(const Rule& rule, const RuleReads& reads) {
    RuleSights sights;
    const auto tree = parse_expression(rule.expr);
    if (tree) {
        collect_sights(*tree, rule.is_alert && !tells_its_value(rule), sights.sights);
        collect_sights(*tree, true, sights.of_existence);
        sights.by_metric = rule.is_alert && reads.reads.everything && tells_by_metric(*tree);
    }
    if (sights.sights.size() == reads.reads.selectors.size()) return sights;
    sights = {};  // a form that the tree does not know
    for (const Selector& selector : reads.reads.selectors) sights.sights.push_back({selector, false});
    sights.of_existence = sights.sights;
    return sights;
}

// ── What changes for a rule: first by series that the incident changes, then by what other rules make of
// them.

namespace {

class ReachSearch {
public:
    ReachSearch(const std::vector<exporters::Changed>& changes, const std::vector<RuleSights>& sights,
                const std::vector<Rule>& rules)
        : sights_(sights), rules_(rules), comes_(rules.size(), false) {
        reach_.rules.assign(rules.size(), false);
        for (const exporters::Changed& one : changes) {
            by_metric_[one.name].push_back(&one);
            all_.push_back(&one);
        }
        for (std::size_t i = 0; i < rules.size(); ++i) {
            if (!rules[i].is_alert) recorded_[rules[i].name].push_back(i);
        }
    }

    Reach search() {
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            std::set<std::string> metrics;
            reach_.rules[i] = sees(sights_[i].sights, sights_[i].by_metric ? &metrics : nullptr);
            comes_[i] = !rules_[i].is_alert && sees(sights_[i].of_existence, nullptr);
            if (sights_[i].by_metric && reach_.rules[i]) reach_.only[i] = std::move(metrics);
        }
        for (bool more = true; more;) {
            more = false;
            for (std::size_t i = 0; i < rules_.size(); ++i) {
                if (!reads_changed(sights_[i].sights)) continue;
                more = more || !reach_.rules[i];
                reach_.rules[i] = true;
                reach_.only.erase(i);
            }
            for (std::size_t i = 0; i < rules_.size(); ++i) {
                if (rules_[i].is_alert || comes_[i] || !reads_changed(sights_[i].of_existence)) continue;
                more = comes_[i] = true;
            }
        }
        return std::move(reach_);
    }

private:
    // Collects the metrics of all series that are seen, where they are asked for.
    bool sees(const std::vector<Sight>& sights, std::set<std::string>* metrics) {
        bool any = false;
        for (const Sight& sight : sights) {
            SeriesMatcher matches(sight.selector);
            for (const exporters::Changed* one : changes_of(sight.selector.metric)) {
                if ((sight.existence && !one->existence) || !matches(one->name, one->labels)) continue;
                if (metrics == nullptr) return true;
                metrics->insert(one->name);
                any = true;
            }
        }
        return any;
    }

    const std::vector<const exporters::Changed*>& changes_of(const std::string& metric) const {
        static const std::vector<const exporters::Changed*> none;
        if (metric.empty()) return all_;
        const auto at = by_metric_.find(metric);
        return at == by_metric_.end() ? none : at->second;
    }

    // Does a recording rule that is seen change? The state of other alerts may always.
    bool reads_changed(const std::vector<Sight>& sights) const {
        return std::any_of(sights.begin(), sights.end(), [&](const Sight& sight) {
            const std::string& metric = sight.selector.metric;
            if (metric.starts_with("ALERTS")) return true;
            const auto changes = [&](std::size_t i) { return sight.existence ? comes_[i] : reach_.rules[i]; };
            if (const auto at = recorded_.find(metric); at != recorded_.end())
                return std::any_of(at->second.begin(), at->second.end(), changes);
            return metric.empty() && std::any_of(recorded_.begin(), recorded_.end(), [&](const auto& one) {
                       return std::any_of(one.second.begin(), one.second.end(), changes);
                   });
        });
    }

    const std::vector<RuleSights>& sights_;
    const std::vector<Rule>& rules_;
    std::map<std::string, std::vector<const exporters::Changed*>> by_metric_;
    std::vector<const exporters::Changed*> all_;
    std::map<std::string, std::vector<std::size_t>> recorded_;
    std::vector<bool> comes_;  // by recording rule: what it records comes or goes
    Reach reach_;
};

}  // namespace

Reach reached_by(const std::vector<exporters::Changed>& changes, const std::vector<RuleSights>& sights,
                 const std::vector<Rule>& rules) {
    return ReachSearch(changes, sights, rules).search();
}

bool may_show(const Rule& alert, const Selector& selector) {
    return std::all_of(selector.matchers.begin(), selector.matchers.end(), [&](const Matcher& matcher) {
        if (matcher.label == "alertname") return fits(matcher, alert.name);
        const auto own = alert.labels.find(matcher.label);
        return own == alert.labels.end() || own->second.find("{{") != std::string::npos ||
               fits(matcher, own->second);
    });
}

std::vector<bool> shown_to(const std::vector<bool>& readers, const std::vector<Rule>& rules,
                           const StaticAnalysis& analysis) {
    std::vector<bool> shown(rules.size(), false);
    for (std::size_t reader = 0; reader < rules.size(); ++reader) {
        if (!readers[reader]) continue;
        for (const Selector& selector : analysis.rules[reader].reads.selectors) {
            if (!selector.metric.starts_with("ALERTS")) continue;
            for (std::size_t i = 0; i < rules.size(); ++i) {
                if (rules[i].is_alert && !analysis.rules[i].dead && may_show(rules[i], selector))
                    shown[i] = true;
            }
        }
    }
    return shown;
}

std::vector<bool> with_shown(std::vector<bool> asked, const std::vector<Rule>& rules,
                             const StaticAnalysis& analysis) {
    for (bool more = true; more;) {
        more = false;
        const std::vector<bool> shown = shown_to(asked, rules, analysis);
        for (std::size_t i = 0; i < rules.size(); ++i) {
            more = more || (shown[i] && !asked[i]);
            asked[i] = asked[i] || shown[i];
        }
    }
    return asked;
}

Reach HealthyMemory::reached(const exporters::World& world, const exporters::Incident& incident,
                             const std::vector<Rule>& rules) const {
    if (incident.healthy() || rules_ != &rules) return {std::vector<bool>(rules.size(), true), {}};
    return reached_by(exporters::changed(world, incident), sights_, rules);
}

std::vector<bool> HealthyMemory::unmoved(const exporters::World& world, const exporters::Incident& incident,
                                         const std::vector<Rule>& rules,
                                         const StaticAnalysis& analysis) const {
    std::vector<bool> again = reached(world, incident, rules).rules;
    for (std::size_t i = 0; i < rules.size();
         ++i)  // without a metric's name, the state of alerts is read too
        again[i] = again[i] || analysis.rules[i].everything || !rules[i].is_alert;
    again = with_shown(std::move(again), rules, analysis);
    std::set<std::string> names;  // a file is reduced by name, so alerts of one name go together
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (again[i]) names.insert(rules[i].name);
    }
    std::vector<bool> reused(rules.size(), false);
    for (std::size_t i = 0; i < rules.size(); ++i) reused[i] = !names.contains(rules[i].name);
    return reused;
}

void HealthyMemory::keep(const exporters::Incident& incident, const std::vector<Rule>& rules,
                         const StaticAnalysis& analysis, const PlayerAnswer& played) {
    if (!incident.healthy() || rules_ != nullptr) return;
    played_ = played;
    rules_ = &rules;
    for (std::size_t i = 0; i < rules.size(); ++i) sights_.push_back(sights_of(rules[i], analysis.rules[i]));
}

}  // namespace deadrank::results::alerts
