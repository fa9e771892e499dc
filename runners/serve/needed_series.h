// runners/serve/needed_series.h — How far back a server must hold series for the rules under test, which of
// them can be asked together, and which it cannot play.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "results/alerts/activity.h"
#include "results/alerts/emitted.h"
#include "results/alerts/healthy_memory.h"
#include "results/alerts/static_check.h"
#include "results/exporters/series.h"

namespace deadrank::runners::serve {

// How long before an evaluation its condition is followed, at most `longest` seconds.
inline double held_time(const results::alerts::Rule& rule, double longest) {
    return std::min(rule.hold + rule.keep_firing, longest);
}

inline bool calls_any(const std::string& expr, std::initializer_list<std::string_view> functions) {
    const auto tokens = results::alerts::tokens_of(expr);
    for (std::size_t i = 0; i + 1 < tokens.size(); ++i) {
        if (tokens[i].kind == results::alerts::Token::Kind::word && tokens[i + 1].text == "(" &&
            results::alerts::one_of(tokens[i].text, functions))
            return true;
    }
    return false;
}

// Does an expression depend on the date, so that weeks later it says something else? It is played from time 0
// on.
inline bool uses_current_date(const std::string& expr) {
    const auto tokens = results::alerts::tokens_of(expr);
    return calls_any(expr, {"day_of_month", "day_of_year", "days_in_month", "month", "year"}) ||
           std::any_of(tokens.begin(), tokens.end(), [](const auto& token) {
               return token.kind == results::alerts::Token::Kind::sign && token.text == "@";
           });
}

// Can a `for` be followed over this time alone, at first? What matters is since when a condition holds. An
// alert that keeps firing may do so by what was long before, and one that tells the hour needs the clock that
// a long past gives.
inline bool may_be_followed(const results::alerts::Rule& rule, double longest) {
    if (rule.hold + rule.keep_firing <= longest) return true;
    return rule.keep_firing == 0 && !uses_current_date(rule.expr) &&
           !calls_any(rule.expr, {"hour", "minute", "day_of_week"});
}

// The asked rules, parted by how far they look back: hours, a day, more. One rule over three days would
// otherwise give every series of the others three days.
inline std::vector<std::vector<bool>> by_reach(const std::vector<results::alerts::Rule>& rules,
                                               const results::alerts::StaticAnalysis& analysis,
                                               const std::vector<bool>& asked, double longest) {
    constexpr double hours = 2 * 3600, day = 86400;
    std::vector<std::vector<bool>> parts(3, std::vector<bool>(rules.size(), false));
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const double reach = analysis.rules[i].look_back + held_time(rules[i], longest);
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

// Can this rule see the state of that alert?
inline bool reads_state_of(std::size_t reader, std::size_t alert,
                           const std::vector<results::alerts::Rule>& rules,
                           const results::alerts::StaticAnalysis& analysis) {
    const auto& selectors = analysis.rules[reader].reads.selectors;
    return std::any_of(selectors.begin(), selectors.end(), [&](const auto& selector) {
        return selector.metric.starts_with("ALERTS") && results::alerts::may_show(rules[alert], selector);
    });
}

inline bool needs_promtool(std::size_t index, const std::vector<results::alerts::Rule>& rules,
                           const results::alerts::StaticAnalysis& analysis, int depth);

// Can a server play this rule about the present state of other alerts? Their states are then written to it
// before the rule is asked.
inline bool state_can_be_written(std::size_t reader, const results::alerts::Selector& selector,
                                 const std::vector<results::alerts::Rule>& rules,
                                 const results::alerts::StaticAnalysis& analysis, int depth) {
    const auto& rule = rules[reader];
    if (selector.metric != "ALERTS" || !rule.is_alert || rule.hold > 0 || rule.keep_firing > 0) return false;
    if (selector.range != 0 || selector.offset != 0 || selector.outer != 0) return false;
    std::vector<bool> alone(rules.size(), false);
    alone[reader] = true;
    const auto shown = results::alerts::shown_to(alone, rules, analysis);
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (shown[i] && (reads_alerts(i, analysis) || needs_promtool(i, rules, analysis, depth + 1)))
            return false;
    }
    return true;
}

// Rules about the state of alerts, parted so that all readers of one part stand on the same side of each
// alert that they read: those before it see its state of the evaluation before.
inline std::vector<std::vector<bool>> by_side(const std::vector<bool>& readers,
                                              const std::vector<results::alerts::Rule>& rules,
                                              const results::alerts::StaticAnalysis& analysis) {
    std::vector<std::vector<bool>> parts;
    std::vector<std::vector<int>> sides;  // of each part, by alert: -1 before it, 1 after it, 0 not read
    for (std::size_t reader = 0; reader < rules.size(); ++reader) {
        if (!readers[reader]) continue;
        std::vector<bool> alone(rules.size(), false);
        alone[reader] = true;
        const auto shown = results::alerts::shown_to(alone, rules, analysis);
        std::vector<int> side(rules.size(), 0);
        for (std::size_t i = 0; i < rules.size(); ++i)
            if (shown[i]) side[i] = i > reader ? -1 : 1;
        const auto agrees = [&](const std::vector<int>& other) {
            return std::equal(side.begin(), side.end(), other.begin(),
                              [](int a, int b) { return a * b >= 0; });
        };
        const auto at = std::find_if(sides.begin(), sides.end(), agrees);
        if (at == sides.end()) {
            parts.push_back(alone);
            sides.push_back(side);
            continue;
        }
        parts[static_cast<std::size_t>(at - sides.begin())][reader] = true;
        for (std::size_t i = 0; i < rules.size(); ++i)
            if (side[i] != 0) (*at)[i] = side[i];
    }
    return parts;
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
inline bool reads_only_the_past(const std::vector<results::alerts::Rule>& rules) {
    return std::none_of(rules.begin(), rules.end(), [](const auto& rule) {
        const auto tokens = results::alerts::tokens_of(rule.expr);
        for (std::size_t i = 0; i < tokens.size(); ++i) {
            if (tokens[i].kind == results::alerts::Token::Kind::sign && tokens[i].text == "@") return true;
            // As in `offset -5m`: a whole word, not a part of a metric's name.
            if (tokens[i].text == "offset" && i + 1 < tokens.size() && tokens[i + 1].text == "-") return true;
        }
        return false;
    });
}

// How long before the first evaluation each recording rule must have been recorded, for the asked rules.
inline std::vector<double> reach_of(const std::vector<results::alerts::Rule>& rules,
                                    const results::alerts::StaticAnalysis& analysis,
                                    const std::vector<bool>& asked, const results::exporters::Window& window,
                                    double longest) {
    constexpr double staleness = 300;
    std::vector<double> reach(rules.size(), -1);
    const auto step = [&](std::size_t i) { return rules[i].interval > 0 ? rules[i].interval : window.eval; };
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (asked[i]) reach[i] = held_time(rules[i], longest) + 2 * step(i);
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

// The history that the asked rules need, when the run is asked from `until` on: none for a range that is
// shorter than the time until then.
inline double history_from(std::vector<results::alerts::Rule> rules,
                           const results::alerts::StaticAnalysis& analysis,
                           const results::exporters::Window& window, const std::vector<bool>& asked,
                           double longest, double until) {
    constexpr double slack = 600;  // staleness, and recorded series that begin later than what they record
    for (auto& rule : rules) {
        rule.hold = held_time(rule, longest);
        rule.keep_firing = 0;
    }
    const double needed = results::alerts::history_needed(rules, analysis, window, asked);
    return needed + slack <= until ? 0 : needed;
}

// The first sample that the asked rules can see, when the run is asked from `until` on.
inline std::size_t first_needed(const std::vector<results::alerts::Rule>& rules,
                                const results::alerts::StaticAnalysis& analysis,
                                const results::exporters::Window& window, const std::vector<bool>& asked,
                                double until) {
    constexpr double staleness = 300;
    double past = 0;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!asked[i]) continue;
        // What is recorded begins earlier than it is read.
        for (std::size_t other = 0; other < rules.size(); ++other)
            if (!rules[other].is_alert && analysis.rules[i].metrics.contains(rules[other].name)) return 0;
        if (analysis.rules[i].everything) return 0;
        past = std::max(past, analysis.rules[i].look_back);
    }
    const double from = window.start() + until - past - staleness - 2 * window.eval;
    return from <= 0 ? 0 : static_cast<std::size_t>(from / window.scrape);
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
