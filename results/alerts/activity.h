// results/alerts/activity.h — When each instance of an alert was pending and firing.
#pragma once

#include <map>
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

// The rule whose mark an instance has. Without one, the rules that it may come from: those of its name whose
// own labels it has, the most specific first.
std::vector<std::size_t> rules_of(const std::map<std::string, std::string>& labels,
                                  const std::vector<Rule>& rules);

// ── How near an alert came to one of its thresholds: by time the value nearest to it, and the one farthest
// from it. Of a limit that is no number: the difference to it; of `==` and `!=`: how far from it.

using Curve = std::vector<std::pair<double, double>>;

// By rule and threshold, as thresholds_of() numbers them.
using Curves = std::map<std::pair<std::size_t, std::size_t>, Curve>;

// Why Prometheus did not evaluate a rule.
struct Refusal {
    std::string words;
    double time = 0;     // seconds into the run
    std::string record;  // the recording rule that it could not evaluate; empty = the alert itself
};

}  // namespace deadrank::results::alerts
