// runners/serve/served_run.cpp — One run of some rules on a server: what they record, the conditions of
// alerts, and the states that rules about ALERTS read.
#include "runners/serve/served_run.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>

#include "results/alerts/activity.h"
#include "results/exporters/series.h"

namespace deadrank::runners::serve {

using results::alerts::Rule;
using scenarios::ErrorCode;
using scenarios::Result;

ServedRun::ServedRun(Stretch& server, const Question& question, const results::exporters::Window& window,
                     Conditions& held, results::alerts::PlayerAnswer& played)
    : server_(server),
      question_(question),
      rules_(question.rules),
      analysis_(question.analysis),
      window_(window),
      held_(held),
      played_(played),
      undecided_(question.rules.size(), false) {}

Result<void> ServedRun::ask_all() {
    std::set<std::string> read;
    bool everything = false;
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        if (!question_.asked[i] || question_.only.contains(i)) continue;
        read.insert(analysis_.rules[i].metrics.begin(), analysis_.rules[i].metrics.end());
        everything = everything || analysis_.rules[i].everything;
    }
    reach_ = reach_of(rules_, analysis_, question_.asked, window_, question_.longest);
    std::vector<bool> recorded(rules_.size(), false);
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        if (rules_[i].is_alert || !(everything || read.contains(rules_[i].name))) continue;
        if (everything) reach_[i] = window_.start();
        if (auto done = record_after_its_own(i, recorded); !done) return done;
    }
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        if (!question_.asked[i] || reads_alerts(i, analysis_)) continue;
        if (auto done = alert(i); !done) return done;
    }
    return ask_about_alerts();
}

Result<void> ServedRun::ask_about_alerts() {
    std::vector<bool> readers(rules_.size(), false);
    for (std::size_t i = 0; i < rules_.size(); ++i)
        readers[i] = question_.asked[i] && reads_alerts(i, analysis_);
    const std::vector<bool> shown = results::alerts::shown_to(readers, rules_, analysis_);
    std::map<std::pair<bool, double>, SeriesByLabels> states;  // by what is evaluated together
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        if (!shown[i]) continue;
        // All readers stand on the same side of each alert that they read: see by_side().
        bool late = false;
        for (std::size_t reader = 0; reader < i; ++reader)
            late = late || (readers[reader] && reads_state_of(reader, i, rules_, analysis_));
        add_states(i, states[{late, step_of(rules_[i])}]);
    }
    for (auto& [when, all] : states) {
        const auto& [late, step] = when;
        const double start = window_.start() + states_from(step) + (late ? 0.001 : 0);
        if (auto done = write_new(all, start, step); !done) return done;
    }
    for (std::size_t i = 0; i < rules_.size(); ++i) {
        if (!readers[i]) continue;
        if (auto done = alert(i); !done) return done;
    }
    return {};
}

double ServedRun::states_from(double step) const { return -std::min(2 * step, window_.start()); }

// The ALERTS series of one alert from just before the run on. For rules that are evaluated before it they are
// written 1 ms late.
void ServedRun::add_states(std::size_t index, SeriesByLabels& states) const {
    const Rule& rule = rules_[index];
    const double step = step_of(rule), start = states_from(step);
    const auto points = static_cast<std::size_t>((window_.duration - start) / step) + 1;
    const auto add = [&](const auto& labels, const auto& intervals, const char* state) {
        if (intervals.empty()) return;
        results::exporters::Series series{.name = "ALERTS", .labels = labels};
        series.labels["alertstate"] = state;
        series.values.assign(points + 1, results::exporters::absent_value());
        for (const auto& one : intervals) {
            const auto point = [&](double time) {
                return std::min(points, static_cast<std::size_t>(std::llround((time - start) / step)));
            };
            const std::size_t end = one.open() ? points : point(one.end);
            for (std::size_t i = point(one.begin); i < end; ++i) series.values[i] = 1;
            series.values[end] = results::exporters::stale_value();
        }
        series.values.resize(points);
        merge_into(states, std::move(series));
    };
    for (const auto& [key, times] : held_[index]) {
        auto labels = key;
        labels.erase("__name__");
        const auto instance =
            results::alerts::instance_of(rule, labels, times, step, window_.duration, start);
        add(labels, instance.pending, "pending");
        add(labels, instance.firing, "firing");
    }
}

double ServedRun::step_of(const Rule& rule) const { return rule.interval > 0 ? rule.interval : window_.eval; }

// First what the rules of this name read: that may be recorded by a later rule.
Result<void> ServedRun::record_after_its_own(std::size_t index, std::vector<bool>& recorded) {
    if (recorded[index]) return {};
    const auto together = recorded_together(index, rules_, analysis_);
    for (const std::size_t one : together) recorded[one] = true;
    for (const std::size_t one : together) {
        for (const auto& selector : analysis_.rules[one].reads.selectors) {
            for (std::size_t other = 0; other < rules_.size(); ++other) {
                if (rules_[other].is_alert || rules_[other].name != selector.metric) continue;
                if (auto done = record_after_its_own(other, recorded); !done) return done;
            }
        }
    }
    return record(together);
}

// What rules of one name record, as far back as it is read. Rules that are evaluated before them see the
// value of the evaluation before: that comes 1 ms late. A series takes samples in order of time alone, so
// that two rules' samples of one series are written together, and a third's at other times not at all.
Result<void> ServedRun::record(const std::vector<std::size_t>& together) {
    const std::size_t index = together[0];
    const double step = step_of(rules_[index]), end = window_.start() + window_.duration;
    const double first =
        window_.start() + (question_.known.resumed() ? std::max(0.0, question_.known.until) : 0);
    const double begin = std::max(0.0, std::floor((first - reach_[index]) / step) * step);
    const double late = read_before_it(index, rules_, analysis_) ? 0.001 : 0;
    const auto points = static_cast<std::size_t>((end - begin) / step) + 1;
    SeriesByLabels all;
    for (const std::size_t one : together) {
        auto found = server_.query_range(rules_[one].expr, begin, end, step);
        if (!found && found.error().code == ErrorCode::io) return tl::unexpected(found.error());
        if (found)
            add_recorded(rules_[one], *found, begin, points, all);
        else
            played_.notes.push_back(rules_[one].name + " records nothing: " + found.error().what);
    }
    return write_new(all, begin + late, step);
}

void ServedRun::add_recorded(const Rule& rule, const std::vector<RangeSeries>& found, double begin,
                             std::size_t points, SeriesByLabels& all) const {
    for (const RangeSeries& one : found) {
        results::exporters::Series series{.name = rule.name, .labels = one.labels};
        series.labels.erase("__name__");
        for (const auto& [name, value] : rule.labels) series.labels[name] = value;
        series.values.assign(points + 1, results::exporters::absent_value());
        for (std::size_t i = 0; i < one.times.size(); ++i) {
            const auto at = static_cast<std::size_t>(std::llround((one.times[i] - begin) / step_of(rule)));
            if (at >= points) continue;
            series.values[at] = one.values[i];
            if (results::exporters::is_absent(series.values[at + 1]))
                series.values[at + 1] = results::exporters::stale_value();
        }
        series.values.resize(points);
        merge_into(all, std::move(series));
    }
}

// Writes the series that are not there yet.
Result<void> ServedRun::write_new(SeriesByLabels& all, double start, double step) {
    std::vector<results::exporters::Series> series;
    for (auto& [labels, one] : all)
        if (written_.emplace(one.name, labels).second) series.push_back(std::move(one));
    return server_.write(series, start, step);
}

void ServedRun::unjudged(std::size_t index, const std::string& words) {
    played_.unjudged[index] = true;
    played_.why_unjudged[index] = words;
    played_.notes.push_back(rules_[index].name + " could not be evaluated: " + words);
}

// The files of two projects often have the same rule: it is asked once.
const ServedRun::Range& ServedRun::condition(const std::string& expr, double first, double step) {
    std::string key = fmt::format("{} {}", first, step);
    for (const auto& token : results::alerts::tokens_of(expr)) key += " " + token.text;
    auto at = answers_.find(key);
    if (at == answers_.end())
        at = answers_.emplace(key, server_.query_range(expr, first, window_.start() + window_.duration, step))
                 .first;
    return at->second;
}

// What the healthy run showed of an alert until the failure; returns from when on the server is asked.
double ServedRun::take_over(std::size_t index, double step) {
    const Known& known = question_.known;
    const double origin = window_.start();
    const double first = std::max(origin, origin + std::ceil(known.until / step) * step);
    const auto only = question_.only.find(index);
    for (const auto& [labels, times] : (*known.before)[index]) {
        const auto name = labels.find("__name__");
        const bool all =
            only != question_.only.end() && name != labels.end() && !only->second.contains(name->second);
        const auto until =
            all ? times.end() : std::lower_bound(times.begin(), times.end(), first - origin - step / 2);
        if (until != times.begin()) held_[index][labels].assign(times.begin(), until);
    }
    return first;
}

Result<void> ServedRun::alert(std::size_t index) {
    const Rule& rule = rules_[index];
    const double step = step_of(rule), origin = window_.start();
    // Starts as early before the run as its `for` may reach back.
    const double before = std::ceil((held_time(rule, question_.longest) + 2 * step) / step) * step;
    const double first = question_.known.resumed() ? take_over(index, step)
                                                   : std::max(std::fmod(origin, step), origin - before);
    const Range& found = condition(rule.expr, first, step);
    if (!found) {
        if (found.error().code == ErrorCode::io) return tl::unexpected(found.error());
        return unjudged(index, found.error().what), Result<void>{};
    }
    if (!add_conditions(index, *found)) {
        return unjudged(index, "vector contains metrics with the same labelset after applying alert labels"),
               Result<void>{};
    }
    if (rule.hold + rule.keep_firing > question_.longest && held_throughout(index, step)) {
        undecided_[index] = true;
        held_[index].clear();
        return {};
    }
    tell(index);
    return {};
}

// False when two series have the same labels as alerts.
bool ServedRun::add_conditions(std::size_t index, const std::vector<RangeSeries>& found) {
    const Rule& rule = rules_[index];
    const auto only = question_.only.find(index);
    const bool by_metric = analysis_.rules[index].reads.everything;
    std::set<std::map<std::string, std::string>> seen;
    for (const RangeSeries& series : found) {
        const auto name = series.labels.find("__name__");
        const std::string metric = name == series.labels.end() ? "" : name->second;
        if (only != question_.only.end() && !only->second.contains(metric)) continue;
        auto labels = results::alerts::alert_labels(rule, series.labels);
        if (!labels) continue;
        if (!seen.insert(*labels).second) return false;
        if (by_metric && !metric.empty()) (*labels)["__name__"] = metric;
        auto& times = held_[index][*labels];
        for (const double time : series.times) times.push_back(time - window_.start());
    }
    return true;
}

// Did the condition hold for some labels at each evaluation of the last half of the time that was followed?
// In the first half recorded series may not have begun yet.
bool ServedRun::held_throughout(std::size_t index, double step) const {
    if (question_.known.resumed()) return false;
    const double last = -2 * step, first = -std::floor(question_.longest / 2 / step) * step;
    const auto evaluations = std::llround((last - first) / step) + 1;
    return std::any_of(held_[index].begin(), held_[index].end(), [&](const auto& one) {
        const auto& times = one.second;
        const auto from = std::lower_bound(times.begin(), times.end(), first - step / 2);
        return std::upper_bound(from, times.end(), last + step / 2) - from >= evaluations;
    });
}

void ServedRun::tell(std::size_t index) {
    for (const auto& [key, times] : held_[index]) {
        auto labels = key;
        labels.erase("__name__");
        auto instance = results::alerts::instance_of(rules_[index], labels, times, step_of(rules_[index]),
                                                     window_.duration);
        if (!instance.firing.empty() || !instance.pending.empty())
            played_.activity[index].push_back(std::move(instance));
    }
}

}  // namespace deadrank::runners::serve
