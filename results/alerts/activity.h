// results/alerts/activity.h — When each instance of an alert was pending and firing.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/alerts/rule.h"
#include "results/external/promtool.h"

namespace deadrank::results::alerts {

// ── When Prometheus reported an alert pending or firing: intervals for each label set.

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

// The instances of each rule, in the order of the rules.
using Activity = std::vector<std::vector<Instance>>;

// The query whose samples are edges: 1 = began at this evaluation, 0 = ended.
std::string edge_query(double eval);

// Turns edges, in order of time, into intervals; an instance belongs to the rule with its name and labels.
Activity activity_of(const std::vector<external::Mismatch>& edges, const std::vector<Rule>& rules,
                     double origin);

// The rules that an instance with these labels may come from: those of its name whose own labels it has, the
// most specific first.
std::vector<std::size_t> rules_of(const std::map<std::string, std::string>& labels,
                                  const std::vector<Rule>& rules);

// ── For a player that has only range queries: the states that Prometheus would have given an alert.

// The labels that an alert gets from one series of its expression. Nothing when a label holds a template that
// only Prometheus can fill in; {{ $labels.x }} is filled in here.
std::optional<std::map<std::string, std::string>> alert_labels(
    const Rule& rule, const std::map<std::string, std::string>& series);

// `times`: the evaluations at which one series of the expression had a value, in seconds of the run,
// ascending, on the grid of `step`. Those before `start` count; what they began is reported to begin there.
Instance instance_of(const Rule& rule, const std::map<std::string, std::string>& labels,
                     const std::vector<double>& times, double step, double end, double start = 0);

}  // namespace deadrank::results::alerts
