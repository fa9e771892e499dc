// results/alerts/expand.cpp — An alert is active while its expression has a value at each evaluation; one gap
// ends it.
#include "results/alerts/expand.h"

#include <algorithm>

#include "results/alerts/promql.h"

namespace deadrank::results::alerts {

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
