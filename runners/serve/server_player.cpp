// runners/serve/server_player.cpp — Plays rules with a Prometheus server, over its own API.
#include "runners/serve/server_player.h"

#include <algorithm>
#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <set>
#include <unistd.h>

#include "results/alerts/activity.h"
#include "results/alerts/promtool_player.h"
#include "results/exporters/series.h"
#include "runners/serve/http.h"
#include "runners/serve/needed_series.h"

namespace deadrank::runners::serve {

namespace {

using results::alerts::PlayerAnswer;
using results::alerts::Rule;
using results::alerts::RuleReads;
using results::alerts::StaticAnalysis;
using results::exporters::Window;
using scenarios::ErrorCode;
using scenarios::Result;

// One run on one server. Server times are run times plus the history before the run.
class ServedRun {
public:
    ServedRun(PrometheusServer& server, const std::vector<Rule>& rules, const StaticAnalysis& analysis,
              const Window& window, const ServerPlayer::Known& known, ServerPlayer::Conditions& held,
              PlayerAnswer& played)
        : server_(server),
          rules_(rules),
          analysis_(analysis),
          window_(window),
          known_(known),
          held_(held),
          played_(played) {}

    Result<void> ask_all(const std::vector<bool>& asked) {
        std::set<std::string> read;
        bool everything = false;
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            if (!asked[i]) continue;
            read.insert(analysis_.rules[i].metrics.begin(), analysis_.rules[i].metrics.end());
            everything = everything || analysis_.rules[i].everything;
        }
        reach_ = reach_of(rules_, analysis_, asked, window_, known_.resumed());
        std::vector<bool> recorded(rules_.size(), false);
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            if (rules_[i].is_alert || !(everything || read.contains(rules_[i].name))) continue;
            if (everything) reach_[i] = window_.start();
            if (auto done = record_after_its_own(i, recorded); !done) return done;
        }
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            if (!asked[i] || reads_alerts(i, analysis_)) continue;
            if (auto done = alert(i); !done) return done;
        }
        return ask_about_alerts(asked);
    }

private:
    Result<void> ask_about_alerts(const std::vector<bool>& asked) {
        std::vector<bool> readers(rules_.size(), false);
        for (std::size_t i = 0; i < rules_.size(); ++i) readers[i] = asked[i] && reads_alerts(i, analysis_);
        const std::vector<bool> shown = shown_to(readers, rules_, analysis_);
        const auto first =
            static_cast<std::size_t>(std::find(readers.begin(), readers.end(), true) - readers.begin());
        std::map<std::pair<bool, double>, SeriesByLabels> states;  // by what is evaluated together
        for (std::size_t i = 0; i < rules_.size(); ++i)
            if (shown[i]) add_states(i, states[{i > first, step_of(rules_[i])}]);
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

    double states_from(double step) const { return -std::min(2 * step, window_.start()); }

    // The ALERTS series of one alert from just before the run on. For rules that are evaluated before it they
    // are written 1 ms late.
    void add_states(std::size_t index, SeriesByLabels& states) const {
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
        for (const auto& [labels, times] : held_[index]) {
            const auto instance =
                results::alerts::instance_of(rule, labels, times, step, window_.duration, start);
            add(labels, instance.pending, "pending");
            add(labels, instance.firing, "firing");
        }
    }

    double step_of(const Rule& rule) const { return rule.interval > 0 ? rule.interval : window_.eval; }

    // First what the rules of this name read: that may be recorded by a later rule.
    Result<void> record_after_its_own(std::size_t index, std::vector<bool>& recorded) {
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
    Result<void> record(const std::vector<std::size_t>& together) {
        const std::size_t index = together[0];
        const double step = step_of(rules_[index]), end = window_.start() + window_.duration;
        const double first = window_.start() + (known_.resumed() ? std::max(0.0, known_.until) : 0);
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

    void add_recorded(const Rule& rule, const std::vector<RangeSeries>& found, double begin,
                      std::size_t points, SeriesByLabels& all) const {
        for (const RangeSeries& one : found) {
            results::exporters::Series series{.name = rule.name, .labels = one.labels};
            series.labels.erase("__name__");
            for (const auto& [name, value] : rule.labels) series.labels[name] = value;
            series.values.assign(points + 1, results::exporters::absent_value());
            for (std::size_t i = 0; i < one.times.size(); ++i) {
                const auto at =
                    static_cast<std::size_t>(std::llround((one.times[i] - begin) / step_of(rule)));
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
    Result<void> write_new(SeriesByLabels& all, double start, double step) {
        std::vector<results::exporters::Series> series;
        for (auto& [labels, one] : all)
            if (written_.emplace(one.name, labels).second) series.push_back(std::move(one));
        return server_.write(series, start, step);
    }

    void unjudged(std::size_t index, const std::string& words) {
        played_.unjudged[index] = true;
        played_.why_unjudged[index] = words;
        played_.notes.push_back(rules_[index].name + " could not be evaluated: " + words);
    }

    Result<void> alert(std::size_t index) {
        const Rule& rule = rules_[index];
        const double step = step_of(rule), origin = window_.start();
        // Starts as early before the run as its `for` may reach back.
        const double before = std::ceil((rule.hold + rule.keep_firing + 2 * step) / step) * step;
        double first = std::max(std::fmod(origin, step), origin - before);
        auto& held = held_[index];
        if (known_.resumed()) {
            first = std::max(origin, origin + std::ceil(known_.until / step) * step);
            for (const auto& [labels, times] : (*known_.before)[index]) {
                const auto until = std::lower_bound(times.begin(), times.end(), first - origin - step / 2);
                if (until != times.begin()) held[labels].assign(times.begin(), until);
            }
        }
        auto found = server_.query_range(rule.expr, first, origin + window_.duration, step);
        if (!found) {
            if (found.error().code == ErrorCode::io) return tl::unexpected(found.error());
            return unjudged(index, found.error().what), Result<void>{};
        }
        std::set<std::map<std::string, std::string>> seen;
        for (RangeSeries& series : *found) {
            for (double& time : series.times) time -= origin;
            const auto labels = results::alerts::alert_labels(rule, series.labels);
            if (!labels) continue;
            if (!seen.insert(*labels).second) {
                return unjudged(index,
                                "vector contains metrics with the same labelset after applying alert labels"),
                       Result<void>{};
            }
            auto& times = held[*labels];
            times.insert(times.end(), series.times.begin(), series.times.end());
        }
        for (const auto& [labels, times] : held) {
            auto instance = results::alerts::instance_of(rule, labels, times, step, window_.duration);
            if (!instance.firing.empty() || !instance.pending.empty())
                played_.activity[index].push_back(std::move(instance));
        }
        return {};
    }

    PrometheusServer& server_;
    const std::vector<Rule>& rules_;
    const StaticAnalysis& analysis_;
    const Window& window_;
    const ServerPlayer::Known& known_;
    ServerPlayer::Conditions& held_;  // of this run
    PlayerAnswer& played_;
    std::vector<double> reach_;  // by rule: how long before the run what it records is read
    std::set<std::pair<std::string, results::exporters::Labels>> written_;  // by rules and alerts
};

// What the healthy run showed of the rules whose answer is reused.
ServerPlayer::Conditions known_again(const ServerPlayer::Conditions& healthy,
                                     const std::vector<bool>& reused) {
    ServerPlayer::Conditions held(healthy.size());
    for (std::size_t i = 0; i < healthy.size(); ++i)
        if (reused[i]) held[i] = healthy[i];
    return held;
}

bool any(const std::vector<bool>& flags) {
    return std::find(flags.begin(), flags.end(), true) != flags.end();
}

}  // namespace

ServerPlayer::ServerPlayer(Options options, std::optional<results::external::Promtool> promtool)
    : options_(std::move(options)) {
    if (promtool)
        exact_.emplace(*promtool, results::alerts::PromtoolPlayer::Options{options_.directory / "promtool",
                                                                           "", false, true});
}

std::string ServerPlayer::name() const { return "a Prometheus server (" + options_.program + ")"; }

void ServerPlayer::stop_when(std::function<bool()> stopped) {
    if (exact_) exact_->stop_when(stopped);
    stopped_ = std::move(stopped);
}

Result<PlayerAnswer> ServerPlayer::play(const results::exporters::World& world,
                                        const results::exporters::Incident& incident,
                                        const std::vector<results::alerts::RuleFile>& files,
                                        const std::vector<Rule>& rules, const StaticAnalysis& analysis) {
    PlayerAnswer played;
    played.activity.resize(rules.size());
    played.unjudged.resize(rules.size(), false);
    played.reused = healthy_.unmoved(world, incident, rules, analysis);
    std::vector<bool> served(rules.size(), false), exact(rules.size(), false), readers = served;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!rules[i].is_alert || analysis.rules[i].dead) continue;
        if (played.reused[i]) {
            played.activity[i] = healthy_.activity()[i];
            continue;
        }
        const bool by_promtool = needs_promtool(i, rules, analysis, 0);
        (by_promtool ? exact : reads_alerts(i, analysis) ? readers : served)[i] = true;
    }
    Known known;
    if (!incident.healthy() && healthy_.knows(rules) && only_look_back(rules))
        known = {&healthy_held_, results::exporters::begins(incident)};
    Conditions held = known.resumed() ? known_again(healthy_held_, played.reused) : Conditions(rules.size());
    auto parts = by_reach(rules, analysis, served, known.resumed());
    if (any(readers)) {  // after all that they read
        if (parts.empty()) parts.push_back(served);
        for (std::size_t i = 0; i < rules.size(); ++i)
            if (readers[i]) parts.back()[i] = true;
    }
    for (const auto& part : parts) {
        if (auto done = serve(world, incident, rules, analysis, part, known, held, played); !done)
            return tl::unexpected(done.error());
    }
    if (any(exact)) {
        if (auto done = play_exactly(world, incident, files, rules, analysis, exact, played); !done)
            return tl::unexpected(done.error());
    }
    healthy_.keep(incident, rules, played);
    if (incident.healthy() && healthy_.knows(rules) && healthy_held_.empty()) healthy_held_ = std::move(held);
    if (options_.keep) {
        auto written = results::alerts::write_kept(world, incident, files, rules, analysis, played, name(),
                                                   options_.directory);
        if (!written) return tl::unexpected(written.error());
    }
    return played;
}

Result<void> ServerPlayer::serve(results::exporters::World world,
                                 const results::exporters::Incident& incident, const std::vector<Rule>& rules,
                                 const StaticAnalysis& analysis, const std::vector<bool>& asked,
                                 const Known& known, Conditions& held, PlayerAnswer& played) {
    world.window.history = std::min(world.window.history, history_from(rules, analysis, world.window, asked,
                                                                       known.resumed(), known.until));
    const auto directory = std::filesystem::temp_directory_path() /
                           fmt::format("deadrank-prometheus-{}-{}", getpid(), servers_++);
    auto server = PrometheusServer::start(options_.program, directory, world.window.history <= 2 * 3600);
    if (!server) return tl::unexpected(server.error());
    (*server)->stopped = stopped_;
    const auto series = results::alerts::series_for(world, incident, rules, analysis, asked);
    auto done = (*server)->write(series, 0, world.window.scrape);
    if (done) done = ServedRun(**server, rules, analysis, world.window, known, held, played).ask_all(asked);
    played.cpu_seconds += (*server)->cpu_seconds();
    server->reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
    return done;
}

Result<void> ServerPlayer::play_exactly(const results::exporters::World& world,
                                        const results::exporters::Incident& incident,
                                        const std::vector<results::alerts::RuleFile>& files,
                                        const std::vector<Rule>& rules, const StaticAnalysis& analysis,
                                        const std::vector<bool>& asked, PlayerAnswer& played) {
    const auto unjudge = [&](const std::string& why) {
        for (std::size_t i = 0; i < rules.size(); ++i) {
            if (asked[i]) played.unjudged[i] = true, played.why_unjudged[i] = why;
        }
    };
    if (!exact_) {
        unjudge("it reads the state of alerts or a later recording rule, and there is no promtool");
        return {};
    }
    // A rule about alerts needs all alerts in the files; any other rule can be played alone.
    bool about_alerts = false;
    for (std::size_t i = 0; i < rules.size(); ++i) {
        const auto& words = analysis.rules[i].reads.identifiers;
        about_alerts =
            about_alerts || (asked[i] && (words.contains("ALERTS") || words.contains("ALERTS_FOR_STATE")));
    }
    const std::vector<bool> all(rules.size(), true);
    auto left = files_for(files, rules, analysis, about_alerts ? all : asked,
                          options_.directory / "copies" / results::alerts::file_safe(incident.id));
    if (!left) return tl::unexpected(left.error());
    StaticAnalysis narrow = about_alerts ? analysis : results::alerts::narrowed(analysis, asked);
    for (std::size_t i = 0; i < rules.size() && !about_alerts; ++i)
        narrow.rules[i].dead |= rules[i].is_alert && !asked[i];  // not in these files
    results::exporters::World shorter = world;
    if (!about_alerts) {
        shorter.window.history = std::min(
            world.window.history, results::alerts::history_needed(rules, analysis, world.window, asked));
    }
    auto answer = exact_->play(shorter, incident, *left, rules, narrow);
    if (!answer && stopped_ && stopped_()) return tl::unexpected(answer.error());
    if (!answer) return unjudge(answer.error().what), Result<void>{};
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!asked[i]) continue;
        played.activity[i] = std::move(answer->activity[i]);
        played.unjudged[i] = answer->unjudged[i];
    }
    played.why_unjudged.merge(answer->why_unjudged);
    played.cpu_seconds += answer->cpu_seconds;
    return {};
}

}  // namespace deadrank::runners::serve
