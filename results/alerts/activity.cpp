// results/alerts/activity.cpp — When each instance of an alert was pending and firing.
#include "results/alerts/activity.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>

#include "results/alerts/test_file.h"
#include "results/exporters/toml_file.h"

namespace deadrank::results::alerts {

// ── From edges to intervals.

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
    if (const auto mark = labels.find(rule_mark); mark != labels.end())
        return {static_cast<std::size_t>(std::strtoul(mark->second.c_str(), nullptr, 10))};
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
        // Ends before beginnings: a series may end in one state and begin in another at the same evaluation.
        for (const bool begins : {false, true}) {
            for (const external::Sample& sample : edge->got) {
                if ((sample.value > 0.5) != begins) continue;
                auto labels = sample.labels;
                const bool firing = labels["alertstate"] == "firing";
                labels.erase("alertstate");
                labels.erase("__name__");
                auto owner = owners.find(labels);
                if (owner == owners.end()) owner = owners.emplace(labels, rules_of(labels, rules)).first;
                labels.erase(rule_mark);
                for (const std::size_t rule : owner->second) {
                    Instance& instance = instance_among(activity[rule], labels);
                    apply(firing ? instance.firing : instance.pending, edge->time - origin, begins);
                }
            }
        }
    }
    return activity;
}

}  // namespace deadrank::results::alerts
