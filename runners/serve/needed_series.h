// runners/serve/needed_series.h — Which series a server must hold for the rules under test (a rule about one
// CPU mode does not need the others), how far back, and which rules it cannot play.
#pragma once

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "results/alerts/activity.h"
#include "results/alerts/emitted.h"
#include "results/alerts/static_check.h"
#include "results/exporters/series.h"

namespace deadrank::runners::serve {

// The asked rules, parted by how far they look back: hours, a day, more. One rule over three days would
// otherwise give every series of the others three days.
inline std::vector<std::vector<bool>> by_reach(const std::vector<results::alerts::Rule>& rules,
                                               const results::alerts::StaticAnalysis& analysis,
                                               const std::vector<bool>& asked, bool resumed) {
    constexpr double hours = 2 * 3600, day = 86400;
    std::vector<std::vector<bool>> parts(3, std::vector<bool>(rules.size(), false));
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const double hold = resumed ? 0 : rules[i].hold + rules[i].keep_firing;
        const double reach = analysis.rules[i].look_back + hold;
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
        const bool reads = std::any_of(selectors.begin(), selectors.end(),
                                       [&](const auto& one) { return one.metric == rules[record].name; });
        if (!reads) continue;
        before = before || (i < record && rules[i].interval == rules[record].interval);
        after = after || i >= record || rules[i].interval != rules[record].interval;
    }
    return before && !after;
}

inline bool reads_alerts(std::size_t index, const results::alerts::StaticAnalysis& analysis) {
    return analysis.rules[index].metrics.contains("ALERTS");
}

// Can an ALERTS series of this alert match the selector? Labels that its expression gives are not known.
inline bool may_show(const results::alerts::Rule& alert, const results::alerts::Selector& selector) {
    return std::all_of(selector.matchers.begin(), selector.matchers.end(), [&](const auto& matcher) {
        if (matcher.label == "alertname") return results::alerts::fits(matcher, alert.name);
        const auto own = alert.labels.find(matcher.label);
        return own == alert.labels.end() || own->second.find("{{") != std::string::npos ||
               results::alerts::fits(matcher, own->second);
    });
}

inline bool needs_promtool(std::size_t index, const std::vector<results::alerts::Rule>& rules,
                           const results::alerts::StaticAnalysis& analysis, int depth);

// The alerts whose state these rules read.
inline std::vector<bool> shown_to(const std::vector<bool>& readers,
                                  const std::vector<results::alerts::Rule>& rules,
                                  const results::alerts::StaticAnalysis& analysis) {
    std::vector<bool> shown(rules.size(), false);
    for (std::size_t reader = 0; reader < rules.size(); ++reader) {
        if (!readers[reader]) continue;
        for (const auto& selector : analysis.rules[reader].reads.selectors) {
            if (selector.metric != "ALERTS") continue;
            for (std::size_t i = 0; i < rules.size(); ++i) {
                if (rules[i].is_alert && !analysis.rules[i].dead && may_show(rules[i], selector))
                    shown[i] = true;
            }
        }
    }
    return shown;
}

// Can a server play this rule about the present state of other alerts? Their states are then written to it
// before the rule is asked. All readers must stand on the same side of each alert that they read, since those
// before it see its state of the evaluation before.
inline bool state_can_be_written(std::size_t reader, const results::alerts::Selector& selector,
                                 const std::vector<results::alerts::Rule>& rules,
                                 const results::alerts::StaticAnalysis& analysis, int depth) {
    const auto& rule = rules[reader];
    if (selector.metric != "ALERTS" || !rule.is_alert || rule.hold > 0 || rule.keep_firing > 0) return false;
    if (selector.range != 0 || selector.offset != 0 || selector.outer != 0) return false;
    std::vector<bool> alone(rules.size(), false);
    alone[reader] = true;
    const auto shown = shown_to(alone, rules, analysis);
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!shown[i]) continue;
        if (rules[i].interval != rule.interval || reads_alerts(i, analysis)) return false;
        if (needs_promtool(i, rules, analysis, depth + 1)) return false;
        for (std::size_t other = 0; other < rules.size(); ++other) {
            if (reads_alerts(other, analysis) && (other < i) != (reader < i)) return false;
        }
    }
    return true;
}

// Does this rule read what cannot be written to a server: the state of alerts that read it themselves, say,
// or a later recording rule that earlier and later rules read alike? `depth` stops cycles.
inline bool needs_promtool(std::size_t index, const std::vector<results::alerts::Rule>& rules,
                           const results::alerts::StaticAnalysis& analysis, int depth) {
    if (depth > 8) return true;
    for (const auto& selector : analysis.rules[index].reads.selectors) {
        if (selector.metric.starts_with("ALERTS")) {
            if (!state_can_be_written(index, selector, rules, analysis, depth)) return true;
            continue;
        }
        for (std::size_t other = 0; other < rules.size(); ++other) {
            if (rules[other].is_alert || rules[other].name != selector.metric) continue;
            if ((other >= index && !read_before_it(other, rules, analysis)) ||
                needs_promtool(other, rules, analysis, depth + 1))
                return true;
        }
    }
    return rules[index].is_alert && !results::alerts::alert_labels(rules[index], {});
}

// Do all rules look into the past alone? Then what they say before a failure begins is what they say without.
inline bool only_look_back(const std::vector<results::alerts::Rule>& rules) {
    return std::none_of(rules.begin(), rules.end(), [](const auto& rule) {
        const auto at = rule.expr.find("offset");
        return rule.expr.find('@') != std::string::npos ||
               (at != std::string::npos && rule.expr.find('-', at) != std::string::npos);
    });
}

// How long before the first evaluation each recording rule must have been recorded, for the asked rules; with
// `resumed` the evaluations before it are known, so that no `for` reaches back beyond it.
inline std::vector<double> reach_of(const std::vector<results::alerts::Rule>& rules,
                                    const results::alerts::StaticAnalysis& analysis,
                                    const std::vector<bool>& asked, const results::exporters::Window& window,
                                    bool resumed) {
    constexpr double staleness = 300;
    std::vector<double> reach(rules.size(), -1);
    const auto step = [&](std::size_t i) { return rules[i].interval > 0 ? rules[i].interval : window.eval; };
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (asked[i]) reach[i] = (resumed ? 0 : rules[i].hold + rules[i].keep_firing) + 2 * step(i);
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

// The history that the asked rules need. A `for` needs none of it where the evaluations until the failure are
// known (`resumed`), and neither does a range that is shorter than the time until then.
inline double history_from(std::vector<results::alerts::Rule> rules,
                           const results::alerts::StaticAnalysis& analysis,
                           const results::exporters::Window& window, const std::vector<bool>& asked,
                           bool resumed, double until) {
    constexpr double slack = 600;  // staleness, and recorded series that begin later than what they record
    if (resumed)
        for (auto& rule : rules) rule.hold = rule.keep_firing = 0;
    const double needed = results::alerts::history_needed(rules, analysis, window, asked);
    return resumed && needed + slack <= until ? 0 : needed;
}

// The rule files without the alerts that are not asked, and without the recording rules that none reads.
inline scenarios::Result<std::vector<results::alerts::RuleFile>> files_for(
    const std::vector<results::alerts::RuleFile>& files, const std::vector<results::alerts::Rule>& rules,
    const results::alerts::StaticAnalysis& analysis, const std::vector<bool>& asked,
    const std::filesystem::path& scratch) {
    const auto read = results::alerts::read_by(analysis, asked);
    std::set<std::string> others;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const bool unread = read && !read->contains(rules[i].name);
        if (!asked[i] && (rules[i].is_alert || unread)) others.insert(rules[i].name);
    }
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (asked[i]) others.erase(rules[i].name);
    }
    std::vector<results::alerts::RuleFile> left;
    for (const auto& file : files) {
        auto copy = results::alerts::without_rules(file, others, scratch);
        if (!copy) return tl::unexpected(copy.error());
        left.push_back(std::move(*copy));
    }
    return left;
}

// The recording rules of this one's name that are evaluated at the same times, itself first.
inline std::vector<std::size_t> recorded_together(std::size_t index,
                                                  const std::vector<results::alerts::Rule>& rules,
                                                  const results::alerts::StaticAnalysis& analysis) {
    const auto& rule = rules[index];
    std::vector<std::size_t> together = {index};
    for (std::size_t i = index + 1; i < rules.size(); ++i) {
        if (!rules[i].is_alert && rules[i].name == rule.name && rules[i].interval == rule.interval &&
            read_before_it(i, rules, analysis) == read_before_it(index, rules, analysis))
            together.push_back(i);
    }
    return together;
}

using SeriesByLabels = std::map<results::exporters::Labels, results::exporters::Series>;

// Adds a series of the same times. Of two that have a sample at the same time the earlier one counts.
inline void merge_into(SeriesByLabels& all, results::exporters::Series one) {
    const auto labels = one.labels;
    const auto [at, fresh] = all.try_emplace(labels, std::move(one));
    if (fresh) return;
    auto& held = at->second.values;
    for (std::size_t i = 0; i < held.size(); ++i) {
        const bool ended = results::exporters::is_stale(held[i]);
        if (results::exporters::is_absent(held[i]) ||
            (ended && !results::exporters::is_absent(one.values[i])))
            held[i] = one.values[i];
    }
}

}  // namespace deadrank::runners::serve
