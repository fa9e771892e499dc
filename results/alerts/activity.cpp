// results/alerts/activity.cpp — When a rule was pending and firing; a rule per label of its series.
#include "results/alerts/activity.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/alerts/promql.h"
#include "results/text/toml_tree.h"

namespace deadrank::results::alerts {

// From edges to intervals.

namespace {

void apply(std::vector<Interval>& intervals, double time, bool begins) {
    if (begins) {
        if (intervals.empty() || !intervals.back().open()) intervals.push_back({time, -1});
    } else if (!intervals.empty() && intervals.back().open()) {
        intervals.back().end = time;
    }
}

Instance& instance_among(std::vector<Instance>& instances, const std::map<std::string, std::string>& labels) {
    for (Instance& one : instances) {
        if (one.labels == labels) return one;
    }
    instances.push_back({labels, {}, {}});
    return instances.back();
}

}  // namespace

std::string edge_query(double eval) {
    const std::string back = exporters::duration_text(eval);
    return fmt::format("(ALERTS unless ALERTS offset {0}) or (0 * (ALERTS offset {0} unless ALERTS))", back);
}

std::vector<std::size_t> rules_of(const std::map<std::string, std::string>& labels,
                                  const std::vector<Rule>& rules) {
    std::vector<std::size_t> fitting;
    const auto name = labels.find("alertname");
    if (name == labels.end()) return fitting;
    std::size_t most = 0;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!rules[i].is_alert || rules[i].name != name->second) continue;
        std::size_t own = 0;
        const bool fits = std::all_of(rules[i].labels.begin(), rules[i].labels.end(), [&](const auto& label) {
            if (label.second.find("{{") != std::string::npos) return true;
            ++own;
            const auto at = labels.find(label.first);
            return at != labels.end() && at->second == label.second;
        });
        if (!fits || own < most) continue;
        if (own > most) fitting.clear();
        most = own;
        fitting.push_back(i);
    }
    return fitting;
}

Activity activity_of(const std::vector<external::Mismatch>& edges, const std::vector<Rule>& rules,
                     double origin) {
    Activity activity(rules.size());
    std::vector<const external::Mismatch*> sorted;
    for (const external::Mismatch& edge : edges) sorted.push_back(&edge);
    std::stable_sort(sorted.begin(), sorted.end(),
                     [](const auto* a, const auto* b) { return a->time < b->time; });
    std::map<std::map<std::string, std::string>, std::vector<std::size_t>> owners;
    for (const external::Mismatch* edge : sorted) {
        // Ends before beginnings: a series may end and begin anew at one evaluation under another state.
        for (const bool begins : {false, true}) {
            for (const external::Sample& sample : edge->got) {
                if ((sample.value > 0.5) != begins) continue;
                auto labels = sample.labels;
                const bool firing = labels["alertstate"] == "firing";
                labels.erase("alertstate");
                labels.erase("__name__");
                auto owner = owners.find(labels);
                if (owner == owners.end()) owner = owners.emplace(labels, rules_of(labels, rules)).first;
                for (const std::size_t rule : owner->second) {
                    Instance& instance = instance_among(activity[rule], labels);
                    apply(firing ? instance.firing : instance.pending, edge->time - origin, begins);
                }
            }
        }
    }
    return activity;
}

// An alert is active while its expression has a value at each evaluation; one gap ends it.

namespace {

std::optional<std::string> expanded_text(std::string expr, const std::vector<Rule>& rules, int depth,
                                         std::string& why) {
    Reads reads = scan(expr);
    // From the back, so that earlier offsets stay true.
    std::sort(reads.selectors.begin(), reads.selectors.end(),
              [](const auto& a, const auto& b) { return a.at > b.at; });
    for (const Selector& selector : reads.selectors) {
        if (selector.metric == "ALERTS" || selector.metric == "ALERTS_FOR_STATE") {
            why = "it reads the state of other alerts";
            return std::nullopt;
        }
        const auto recorded = std::find_if(rules.begin(), rules.end(), [&](const Rule& one) {
            return !one.is_alert && one.name == selector.metric;
        });
        if (recorded == rules.end()) continue;
        if (depth > 8 || !selector.matchers.empty() || selector.range > 0 || selector.offset != 0 ||
            !recorded->labels.empty()) {
            why = "it reads the recorded '" + selector.metric +
                  "' in a way that cannot be put into the expression";
            return std::nullopt;
        }
        auto inner = expanded_text(recorded->expr, rules, depth + 1, why);
        if (!inner) return inner;
        expr.replace(selector.at, selector.metric.size(), "(" + *inner + ")");
    }
    return expr;
}

}  // namespace

std::optional<std::string> expanded(const Rule& rule, const std::vector<Rule>& rules, std::string& why) {
    return expanded_text(rule.expr, rules, 0, why);
}

Instance instance_of(const Rule& rule, const std::map<std::string, std::string>& labels,
                     const std::vector<double>& times, double step, double end) {
    Instance instance{.labels = labels};
    instance.labels.erase("__name__");
    for (const auto& [name, value] : rule.labels) {
        if (value.find("{{") == std::string::npos) instance.labels[name] = value;
    }
    instance.labels["alertname"] = rule.name;
    for (std::size_t i = 0; i < times.size();) {
        std::size_t last = i;
        while (last + 1 < times.size() && times[last + 1] - times[last] <= step * 1.5) ++last;
        const double begin = times[i], fires = begin + rule.hold;
        const double stop = times[last] + step > end ? -1 : times[last] + step;
        const bool fired = fires <= times[last] + 1e-6;
        if (rule.hold > 0) instance.pending.push_back({begin, fired ? fires : stop});
        if (fired) instance.firing.push_back({fires, stop});
        i = last + 1;
    }
    return instance;
}

}  // namespace deadrank::results::alerts
