// results/alerts/series_matcher.h — Which series a selector matches, and which series some rules need, for
// thousands of series in a row.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/alerts/static_check.h"
#include "results/exporters/series.h"

namespace deadrank::results::alerts {

// Keeps what a pattern said about each value of a label, since matching patterns takes long.
class SeriesMatcher {
public:
    explicit SeriesMatcher(const Selector& selector) : selector_(&selector) {}

    // The metric's name is compared only where a matcher asks for it: callers look series up by name.
    bool operator()(const std::string& name, const exporters::Labels& labels) {
        static const std::string nothing;
        known_.resize(selector_->matchers.size());
        for (std::size_t i = 0; i < known_.size(); ++i) {
            const Matcher& matcher = selector_->matchers[i];
            const auto at = labels.find(matcher.label);
            const std::string& value = matcher.label == "__name__" ? name
                                       : at == labels.end()        ? nothing
                                                                   : at->second;
            if (matcher.op == "=" || matcher.op == "!=") {
                if ((value == matcher.value) != (matcher.op == "=")) return false;
                continue;
            }
            const auto [answer, fresh] = known_[i].try_emplace(value, true);
            if (fresh) answer->second = fits(matcher, value);
            if (!answer->second) return false;
        }
        return true;
    }

private:
    const Selector* selector_;
    std::vector<std::map<std::string, bool>> known_;  // by matcher: value → does it fit
};

// Rules that read series of these metrics alone, by rule.
using OnlyMetrics = std::map<std::size_t, std::set<std::string>>;

// The series that a selector of the asked rules, or of a recording rule that they read, can match.
class NeededSeries {
public:
    NeededSeries(const std::vector<Rule>& rules, const StaticAnalysis& analysis,
                 const std::vector<bool>& asked, const OnlyMetrics& only = {})
        : wanted_(narrowed(analysis, asked).wanted) {
        std::vector<bool> unbound = asked;  // by `only`
        for (const auto& [rule, metrics] : only) unbound[rule] = false;
        const auto read = read_by(analysis, unbound);
        for (std::size_t i = 0; i < rules.size(); ++i) {
            const bool recorded = !rules[i].is_alert && (!read || read->contains(rules[i].name));
            if (asked[i] && !unbound[i]) {
                for (const Selector& selector : analysis.rules[i].reads.selectors)
                    for (const std::string& name : only.at(i)) selectors_[name].emplace_back(selector);
            } else if (asked[i] || recorded) {
                bool nameless = false;
                for (const Selector& selector : analysis.rules[i].reads.selectors) {
                    selectors_[selector.metric].emplace_back(selector);
                    nameless = nameless || selector.metric.empty();
                }
                any_metric_ = any_metric_ || analysis.rules[i].everything;
                everything_ = everything_ || (analysis.rules[i].reads.everything && !nameless);
            }
        }
    }

    // Can any series of this metric be needed?
    bool metric(const std::string& name) const {
        return any_metric_ || wanted_.contains(name) || selectors_.contains(name);
    }

    bool operator()(const exporters::Series& series) {
        return everything_ || any(series.name, series) || any("", series);
    }

private:
    bool any(const std::string& metric, const exporters::Series& series) {
        const auto at = selectors_.find(metric);
        if (at == selectors_.end()) return false;
        for (SeriesMatcher& matches : at->second)
            if (matches(series.name, series.labels)) return true;
        return false;
    }

    std::set<std::string> wanted_;
    std::map<std::string, std::vector<SeriesMatcher>> selectors_;  // by metric; "" for any
    bool any_metric_ = false;
    bool everything_ = false;
};

}  // namespace deadrank::results::alerts
