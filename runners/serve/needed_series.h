// runners/serve/needed_series.h — Which series a server must hold for the rules under test (a rule about one
// CPU mode does not need the others), how far back, and which rules it cannot play.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "results/alerts/activity.h"
#include "results/alerts/emitted.h"
#include "results/alerts/static_check.h"
#include "results/exporters/series.h"

namespace deadrank::runners::serve {

// The series that a selector of the asked rules, or of a recording rule, can match.
class NeededSeries {
public:
    NeededSeries(const std::vector<results::alerts::Rule>& rules,
                 const results::alerts::StaticAnalysis& analysis, const std::vector<bool>& asked) {
        const auto read = results::alerts::read_by(analysis, asked);
        for (std::size_t i = 0; i < rules.size(); ++i) {
            const bool recorded = !rules[i].is_alert && (!read || read->contains(rules[i].name));
            if (!asked[i] && !recorded) continue;
            for (const auto& selector : analysis.rules[i].reads.selectors) {
                everything_ = everything_ || selector.metric.empty() || analysis.rules[i].reads.everything;
                selectors_[selector.metric].push_back({&selector, {}});
            }
        }
    }

    bool operator()(const results::exporters::Series& series) {
        const auto at = selectors_.find(series.name);
        if (everything_ || at == selectors_.end()) return everything_;
        return std::any_of(at->second.begin(), at->second.end(),
                           [&](One& one) { return fits(one, series.labels); });
    }

private:
    struct One {
        const results::alerts::Selector* selector;
        std::map<std::pair<std::size_t, std::string>, bool> known;  // by matcher and value
    };

    static bool fits(One& one, const results::exporters::Labels& labels) {
        for (std::size_t i = 0; i < one.selector->matchers.size(); ++i) {
            const auto& matcher = one.selector->matchers[i];
            if (matcher.label == "__name__") continue;
            const auto at = labels.find(matcher.label);
            const std::string value = at == labels.end() ? "" : at->second;
            const auto [answer, fresh] = one.known.try_emplace({i, value}, true);
            if (fresh) answer->second = results::alerts::fits(matcher, value);
            if (!answer->second) return false;
        }
        return true;
    }

    std::map<std::string, std::vector<One>> selectors_;
    bool everything_ = false;
};

// The asked rules, parted by how far they look back: hours, a day, more. One rule over three days would
// otherwise give every series of the others three days.
inline std::vector<std::vector<bool>> by_reach(const std::vector<results::alerts::Rule>& rules,
                                               const results::alerts::StaticAnalysis& analysis,
                                               const std::vector<bool>& asked) {
    constexpr double hours = 2 * 3600, day = 86400;
    std::vector<std::vector<bool>> parts(3, std::vector<bool>(rules.size(), false));
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const double reach = analysis.rules[i].look_back + rules[i].hold + rules[i].keep_firing;
        if (asked[i]) parts[reach <= hours ? 0 : reach <= day ? 1 : 2][i] = true;
    }
    std::erase_if(parts, [](const std::vector<bool>& part) {
        return std::find(part.begin(), part.end(), true) == part.end();
    });
    return parts;
}

// Is this recording rule read by rules alone that are evaluated before it, at its interval?
inline bool read_before_it(std::size_t record, const std::vector<results::alerts::Rule>& rules,
                           const results::alerts::StaticAnalysis& analysis) {
    bool before = false, after = false;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const auto& selectors = analysis.rules[i].reads.selectors;
        const bool reads = std::any_of(selectors.begin(), selectors.end(), [&](const auto& one) {
            return one.metric == rules[record].name;
        });
        if (!reads) continue;
        before = before || (i < record && rules[i].interval == rules[record].interval);
        after = after || i >= record || rules[i].interval != rules[record].interval;
    }
    return before && !after;
}

// Does this rule read the state of alerts, or a later recording rule that earlier and later rules read alike?
// `depth` stops cycles.
inline bool needs_promtool(std::size_t index, const std::vector<results::alerts::Rule>& rules,
                           const results::alerts::StaticAnalysis& analysis, int depth) {
    if (depth > 8) return true;
    for (const auto& selector : analysis.rules[index].reads.selectors) {
        if (selector.metric.starts_with("ALERTS")) return true;
        for (std::size_t other = 0; other < rules.size(); ++other) {
            if (rules[other].is_alert || rules[other].name != selector.metric) continue;
            if ((other >= index && !read_before_it(other, rules, analysis)) ||
                needs_promtool(other, rules, analysis, depth + 1))
                return true;
        }
    }
    return rules[index].is_alert && !results::alerts::alert_labels(rules[index], {});
}

// How long before the run each recording rule must have been recorded, for the asked rules.
inline std::vector<double> reach_of(const std::vector<results::alerts::Rule>& rules,
                                    const results::alerts::StaticAnalysis& analysis,
                                    const std::vector<bool>& asked,
                                    const results::exporters::Window& window) {
    constexpr double staleness = 300;
    std::vector<double> reach(rules.size(), -1);
    const auto step = [&](std::size_t i) { return rules[i].interval > 0 ? rules[i].interval : window.eval; };
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (asked[i]) reach[i] = rules[i].hold + rules[i].keep_firing + 2 * step(i);
    }
    for (bool changed = true; changed;) {
        changed = false;
        for (std::size_t i = 0; i < rules.size(); ++i) {
            if (reach[i] < 0 || reach[i] > window.start()) continue;
            for (const auto& selector : analysis.rules[i].reads.selectors) {
                for (std::size_t other = 0; other < rules.size(); ++other) {
                    if (rules[other].is_alert || rules[other].name != selector.metric) continue;
                    const double needed = reach[i] + selector.range + selector.offset + selector.outer +
                                          staleness + 2 * (step(i) + step(other));
                    changed = changed || needed > reach[other];
                    reach[other] = std::max(reach[other], needed);
                }
            }
        }
    }
    return reach;
}

}  // namespace deadrank::runners::serve
