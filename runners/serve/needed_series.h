// runners/serve/needed_series.h — Which series a server must hold for the rules under test: a rule about one
// CPU mode does not need the others.
#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "results/alerts/emitted.h"
#include "results/alerts/static_check.h"
#include "results/exporters/series.h"

namespace deadrank::runners::serve {

// The series that a selector of the asked rules, or of a recording rule, can match.
class NeededSeries {
public:
    NeededSeries(const std::vector<results::alerts::Rule>& rules,
                 const results::alerts::StaticAnalysis& analysis, const std::vector<bool>& asked) {
        for (std::size_t i = 0; i < rules.size(); ++i) {
            if (!asked[i] && rules[i].is_alert) continue;
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

}  // namespace deadrank::runners::serve
