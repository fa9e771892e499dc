// results/alerts/expand.h — What the second path does in Prometheus' place: recording rules put into the
// expressions that read them, and `for` counted over the results of a range query.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "results/alerts/activity.h"

namespace deadrank::results::alerts {

// The expression without recorded names. Nothing when that cannot be said as text: a recorded metric with
// matchers, a range or an offset, a circle, or ALERTS; `why` then tells.
std::optional<std::string> expanded(const Rule& rule, const std::vector<Rule>& rules, std::string& why);

// The times (seconds of the run, ascending) at which one series of the expression had a value, as an alert's
// intervals.
Instance instance_of(const Rule& rule, const std::map<std::string, std::string>& labels,
                     const std::vector<double>& times, double step, double end);

}  // namespace deadrank::results::alerts
