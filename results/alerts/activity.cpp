// results/alerts/activity.cpp — When each instance of an alert was pending and firing.
#include "results/alerts/activity.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <regex>

#include "results/exporters/toml_tree.h"

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
                for (const std::size_t rule : owner->second) {
                    Instance& instance = instance_among(activity[rule], labels);
                    apply(firing ? instance.firing : instance.pending, edge->time - origin, begins);
                }
            }
        }
    }
    return activity;
}

namespace {

// The states of one alert in Prometheus (rules/alerting.go), evaluation by evaluation: pending while its
// condition holds, firing after `for`, and firing on for `keep_firing_for`.
class AlertStates {
public:
    AlertStates(const Rule& rule, Instance& instance, double start)
        : rule_(rule), instance_(instance), start_(start) {}

    void evaluate(double time, bool holds) {
        if (holds) {
            if (!active_) begun_ = time;
            active_ = true;
            kept_since_.reset();
            if (!firing_ && time - begun_ >= rule_.hold - 1e-6) {
                close(instance_.pending, time);
                firing_ = true;
                instance_.firing.push_back({std::max(start_, time), -1});
            } else if (!firing_ && (instance_.pending.empty() || !instance_.pending.back().open())) {
                instance_.pending.push_back({std::max(start_, time), -1});
            }
            return;
        }
        if (!active_) return;
        if (firing_ && rule_.keep_firing > 0) {
            if (!kept_since_) kept_since_ = time;
            if (time - *kept_since_ < rule_.keep_firing - 1e-6) return;
        }
        active_ = firing_ = false;
        kept_since_.reset();
        close(instance_.pending, time);
        close(instance_.firing, time);
    }

private:
    // Drops an interval that ended before the start.
    void close(std::vector<Interval>& intervals, double time) const {
        if (intervals.empty() || !intervals.back().open()) return;
        intervals.back().end = time;
        if (time <= start_) intervals.pop_back();
    }

    const Rule& rule_;
    Instance& instance_;
    double start_;
    bool active_ = false, firing_ = false;
    double begun_ = 0;
    std::optional<double> kept_since_;
};

}  // namespace

std::optional<std::map<std::string, std::string>> alert_labels(
    const Rule& rule, const std::map<std::string, std::string>& series) {
    static const std::regex named(R"(\{\{-?\s*\$labels\.([a-zA-Z_][a-zA-Z0-9_]*)\s*-?\}\})");
    auto labels = series;
    labels.erase("__name__");
    for (const auto& [name, value] : rule.labels) {
        std::string text = value;
        for (std::smatch found; std::regex_search(text, found, named);) {
            const auto at = series.find(found[1]);
            text.replace(static_cast<std::size_t>(found.position()), static_cast<std::size_t>(found.length()),
                         at == series.end() ? "" : at->second);
        }
        if (text.find("{{") != std::string::npos) return std::nullopt;
        if (text.empty())
            labels.erase(name);
        else
            labels[name] = text;
    }
    labels["alertname"] = rule.name;
    return labels;
}

Instance instance_of(const Rule& rule, const std::map<std::string, std::string>& labels,
                     const std::vector<double>& times, double step, double end, double start) {
    Instance instance{.labels = labels};
    if (times.empty()) return instance;
    AlertStates states(rule, instance, start);
    std::size_t next = 0;
    const auto evaluations = static_cast<std::int64_t>(std::floor((end - times[0]) / step + 1e-6));
    for (std::int64_t i = 0; i <= evaluations; ++i) {
        const double time = times[0] + static_cast<double>(i) * step;
        const bool holds = next < times.size() && times[next] < time + step / 2;
        if (holds) ++next;
        states.evaluate(time, holds);
    }
    return instance;
}

}  // namespace deadrank::results::alerts
