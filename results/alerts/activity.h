// results/alerts/activity.h — When a rule was pending and firing; a rule per label of its series.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/alerts/rule.h"
#include "results/external/promtool.h"

namespace deadrank::results::alerts {

// When which alert was pending and firing, as Prometheus said: intervals for each label set.

struct Interval {
    double begin = 0;
    double end = -1;  // -1 = still so when the run ended
    bool open() const { return end < 0; }
};

// One alert with one set of labels.
struct Instance {
    std::map<std::string, std::string> labels;  // without alertstate and __name__
    std::vector<Interval> pending, firing;
};

// By rule: its instances.
using Activity = std::vector<std::vector<Instance>>;

// The query whose samples are edges: 1 = began at this evaluation, 0 = ended.
std::string edge_query(double eval);

// Edges in order of time become intervals; instances go to the rule of that name with the labels it sets.
Activity activity_of(const std::vector<external::Mismatch>& edges, const std::vector<Rule>& rules,
                     double origin);

// The rules that such an instance may come from: those of its name whose own labels it has, the most specific
// first.
std::vector<std::size_t> rules_of(const std::map<std::string, std::string>& labels,
                                  const std::vector<Rule>& rules);

// What the second path does in Prometheus' place: the states of an alert over the answers of a range query.

// The labels that an alert gets from one series of its expression. Nothing when a label holds a template that
// only Prometheus can fill in; {{ $labels.x }} is filled in here.
std::optional<std::map<std::string, std::string>> alert_labels(
    const Rule& rule, const std::map<std::string, std::string>& series);

// `times` are the evaluations, on the grid of `step` and ascending, at which one series of the expression had
// a value, in seconds of the run; those before the run count, and what they began is said to begin at 0.
Instance instance_of(const Rule& rule, const std::map<std::string, std::string>& labels,
                     const std::vector<double>& times, double step, double end);

}  // namespace deadrank::results::alerts
