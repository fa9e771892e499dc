// runners/serve/server_player.cpp — Plays rules with a Prometheus server, over its own API.
#include "runners/serve/server_player.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <unistd.h>

#include "results/alerts/activity.h"
#include "results/alerts/promtool_player.h"
#include "results/exporters/series.h"
#include "runners/serve/http.h"
#include "runners/serve/needed_series.h"

namespace deadrank::runners::serve {

// Remote write in batches of 2,000 series × 60 samples; each series in order of time.

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

Result<std::unique_ptr<PrometheusServer>> PrometheusServer::start(const std::string& program,
                                                                  const std::filesystem::path& directory) {
    std::error_code trouble;
    std::filesystem::remove_all(directory, trouble);
    std::filesystem::create_directories(directory / "data", trouble);
    if (trouble)
        return refuse(ErrorCode::io, "cannot use '" + directory.string() + "': " + trouble.message());
    std::ofstream(directory / "prometheus.yml") << "global: {scrape_interval: 1h}\n";
    auto server = std::make_unique<PrometheusServer>();
    server->port_ = free_port();
    auto daemon = Daemon::start(
        {program, "--config.file=" + (directory / "prometheus.yml").string(),
         "--storage.tsdb.path=" + (directory / "data").string(), "--storage.tsdb.retention.time=50y",
         // One block longer than any run, so that nothing is compacted or too old to be written.
         "--storage.tsdb.min-block-duration=60d", "--storage.tsdb.max-block-duration=60d",
         "--web.enable-remote-write-receiver", "--query.max-samples=500000000",
         fmt::format("--web.listen-address=127.0.0.1:{}", server->port_)},
        directory / "prometheus.log");
    if (!daemon) return tl::unexpected(daemon.error());
    server->daemon_ = std::move(*daemon);
    if (auto up = server->daemon_->await(server->port_, "/-/ready", 60); !up)
        return tl::unexpected(up.error());
    return server;
}

Result<void> PrometheusServer::write(const std::vector<results::exporters::Series>& series, double start,
                                     double step) {
    constexpr std::size_t series_max = 2000, samples_max = 60;
    const std::span<const results::exporters::Series> all(series);
    for (std::size_t first = 0; first < all.size(); first += series_max) {
        const auto part = all.subspan(first, std::min(series_max, all.size() - first));
        for (std::size_t sample = 0; sample < part[0].values.size(); sample += samples_max) {
            const std::string body = results::exporters::snappy_block(results::exporters::write_request(
                part, sample, sample + samples_max, static_cast<std::int64_t>(start * 1000),
                static_cast<std::int64_t>(step * 1000)));
            auto answer = ask(port_, {"POST", "/api/v1/write", body},
                              {{"Content-Encoding", "snappy"},
                               {"Content-Type", "application/x-protobuf"},
                               {"X-Prometheus-Remote-Write-Version", "0.1.0"}});
            if (!answer) return tl::unexpected(answer.error());
            if (answer->status / 100 != 2) {
                return refuse(ErrorCode::io, fmt::format("Prometheus refuses samples ({}): {}",
                                                         answer->status, answer->body));
            }
        }
    }
    return {};
}

namespace {

Result<void> add_answer(const std::string& body,
                        std::map<std::map<std::string, std::string>, RangeSeries>& found) {
    const auto json = nlohmann::json::parse(body, nullptr, false);
    if (json.is_discarded() || json.value("status", "") != "success") {
        return refuse(ErrorCode::bad_input,
                      json.is_object() ? json.value("error", "no reason given") : body.substr(0, 200));
    }
    for (const auto& one : json["data"]["result"]) {
        std::map<std::string, std::string> labels;
        for (const auto& [name, value] : one["metric"].items()) labels[name] = value.get<std::string>();
        RangeSeries& series = found[labels];
        series.labels = labels;
        for (const auto& point : one["values"]) {
            series.times.push_back(point[0].get<double>());
            series.values.push_back(std::strtod(point[1].get_ref<const std::string&>().c_str(), nullptr));
        }
    }
    return {};
}

}  // namespace

Result<std::vector<RangeSeries>> PrometheusServer::query_range(const std::string& expr, double start,
                                                               double end, double step) {
    constexpr double points_max = 10'000;  // Prometheus returns at most 11,000 per query
    std::map<std::map<std::string, std::string>, RangeSeries> found;
    for (double first = start; first <= end; first += points_max * step) {
        const double last = std::min(end, first + (points_max - 1) * step);
        const std::string form =
            fmt::format("query={}&start={}&end={}&step={}", form_value(expr), first, last, step);
        auto answer = ask(port_, {"POST", "/api/v1/query_range", form},
                          {{"Content-Type", "application/x-www-form-urlencoded"}}, 300);
        if (!answer) return tl::unexpected(answer.error());
        if (auto added = add_answer(answer->body, found); !added) return tl::unexpected(added.error());
    }
    std::vector<RangeSeries> all;
    for (auto& [labels, series] : found) all.push_back(std::move(series));
    return all;
}

namespace {

using results::alerts::PlayerAnswer;
using results::alerts::Rule;
using results::alerts::RuleReads;
using results::alerts::StaticAnalysis;
using results::exporters::Window;
using scenarios::Result;

// One run on one server. Server times are run times plus the history before the run.
class ServedRun {
public:
    ServedRun(PrometheusServer& server, const std::vector<Rule>& rules, const StaticAnalysis& analysis,
              const Window& window, PlayerAnswer& played)
        : server_(server), rules_(rules), analysis_(analysis), window_(window), played_(played) {}

    Result<void> ask_all(const std::vector<bool>& asked) {
        std::set<std::string> read;
        bool everything = false;
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            if (!asked[i]) continue;
            read.insert(analysis_.rules[i].metrics.begin(), analysis_.rules[i].metrics.end());
            everything = everything || analysis_.rules[i].everything;
        }
        reach_ = reach_of(rules_, analysis_, asked, window_);
        std::vector<bool> recorded(rules_.size(), false);
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            if (rules_[i].is_alert || !(everything || read.contains(rules_[i].name))) continue;
            if (everything) reach_[i] = window_.start();
            if (auto done = record_after_its_own(i, recorded); !done) return done;
        }
        for (std::size_t i = 0; i < rules_.size(); ++i) {
            if (!asked[i]) continue;
            if (auto done = alert(i); !done) return done;
        }
        return {};
    }

private:
    double step_of(const Rule& rule) const { return rule.interval > 0 ? rule.interval : window_.eval; }

    // First what the rule itself reads: that may be recorded by a later rule.
    Result<void> record_after_its_own(std::size_t index, std::vector<bool>& recorded) {
        if (recorded[index]) return {};
        recorded[index] = true;
        for (const auto& selector : analysis_.rules[index].reads.selectors) {
            for (std::size_t other = 0; other < rules_.size(); ++other) {
                if (rules_[other].is_alert || rules_[other].name != selector.metric) continue;
                if (auto done = record_after_its_own(other, recorded); !done) return done;
            }
        }
        return record(index);
    }

    // What the rule records, as far back as it is read, with a staleness marker where a series ends. Rules
    // that are evaluated before it see its value of the evaluation before: that comes 1 ms late.
    Result<void> record(std::size_t index) {
        const Rule& rule = rules_[index];
        const double step = step_of(rule), end = window_.start() + window_.duration;
        const double begin = std::max(0.0, std::floor((window_.start() - reach_[index]) / step) * step);
        const double late = read_before_it(index, rules_, analysis_) ? 0.001 : 0;
        auto found = server_.query_range(rule.expr, begin, end, step);
        if (!found) {
            if (found.error().code == ErrorCode::io) return tl::unexpected(found.error());
            played_.notes.push_back(rule.name + " records nothing: " + found.error().what);
            return {};
        }
        const auto points = static_cast<std::size_t>((end - begin) / step) + 1;
        std::vector<results::exporters::Series> recorded;
        for (const RangeSeries& one : *found) {
            results::exporters::Series series{.name = rule.name, .labels = one.labels};
            series.labels.erase("__name__");
            for (const auto& [name, value] : rule.labels) series.labels[name] = value;
            series.values.assign(points + 1, results::exporters::absent_value());
            for (std::size_t i = 0; i < one.times.size(); ++i) {
                const auto at = static_cast<std::size_t>(std::llround((one.times[i] - begin) / step));
                if (at >= points) continue;
                series.values[at] = one.values[i];
                if (results::exporters::is_absent(series.values[at + 1]))
                    series.values[at + 1] = results::exporters::stale_value();
            }
            series.values.resize(points);
            recorded.push_back(std::move(series));
        }
        return server_.write(recorded, begin + late, step);
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
        auto found = server_.query_range(rule.expr, std::max(std::fmod(origin, step), origin - before),
                                         origin + window_.duration, step);
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
                played_.activity[index].clear();
                return unjudged(index,
                                "vector contains metrics with the same labelset after applying alert labels"),
                       Result<void>{};
            }
            auto instance = results::alerts::instance_of(rule, *labels, series.times, step, window_.duration);
            if (!instance.firing.empty() || !instance.pending.empty())
                played_.activity[index].push_back(std::move(instance));
        }
        return {};
    }

    PrometheusServer& server_;
    const std::vector<Rule>& rules_;
    const StaticAnalysis& analysis_;
    const Window& window_;
    PlayerAnswer& played_;
    std::vector<double> reach_;  // by rule: how long before the run what it records is read
};

bool any(const std::vector<bool>& flags) {
    return std::find(flags.begin(), flags.end(), true) != flags.end();
}

// The rule files without the alerts that are not asked, and without the recording rules that none reads.
Result<std::vector<results::alerts::RuleFile>> files_for(const std::vector<results::alerts::RuleFile>& files,
                                                         const std::vector<Rule>& rules,
                                                         const StaticAnalysis& analysis,
                                                         const std::vector<bool>& asked,
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

}  // namespace

ServerPlayer::ServerPlayer(Options options, std::optional<results::external::Promtool> promtool)
    : options_(std::move(options)) {
    if (promtool)
        exact_.emplace(*promtool,
                       results::alerts::PromtoolPlayer::Options{options_.directory / "promtool", "", false});
}

std::string ServerPlayer::name() const { return "a Prometheus server (" + options_.program + ")"; }

Result<PlayerAnswer> ServerPlayer::play(const results::exporters::World& world,
                                        const results::exporters::Incident& incident,
                                        const std::vector<results::alerts::RuleFile>& files,
                                        const std::vector<Rule>& rules, const StaticAnalysis& analysis) {
    PlayerAnswer played;
    played.activity.resize(rules.size());
    played.unjudged.resize(rules.size(), false);
    played.reused = healthy_.unmoved(world, incident, rules, analysis);
    std::vector<bool> served(rules.size(), false), exact(rules.size(), false);
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!rules[i].is_alert || analysis.rules[i].dead) continue;
        if (played.reused[i]) {
            played.activity[i] = healthy_.activity()[i];
            continue;
        }
        (needs_promtool(i, rules, analysis, 0) ? exact : served)[i] = true;
    }
    for (const auto& part : by_reach(rules, analysis, served)) {
        if (auto done = serve(world, incident, rules, analysis, part, played); !done)
            return tl::unexpected(done.error());
    }
    if (any(exact)) {
        if (auto done = play_exactly(world, incident, files, rules, analysis, exact, played); !done)
            return tl::unexpected(done.error());
    }
    healthy_.keep(incident, rules, played);
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
                                 PlayerAnswer& played) {
    world.window.history = std::min(world.window.history, results::alerts::history_needed(
                                                              rules, analysis, world.window, asked));
    const auto directory = std::filesystem::temp_directory_path() /
                           fmt::format("deadrank-prometheus-{}-{}", getpid(), servers_++);
    auto server = PrometheusServer::start(options_.program, directory);
    if (!server) return tl::unexpected(server.error());
    auto series = results::alerts::series_for(world, incident, results::alerts::narrowed(analysis, asked));
    NeededSeries needed(rules, analysis, asked);
    std::erase_if(series, [&](const auto& one) { return !needed(one); });
    auto done = (*server)->write(series, 0, world.window.scrape);
    if (done) done = ServedRun(**server, rules, analysis, world.window, played).ask_all(asked);
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
    const StaticAnalysis narrow = about_alerts ? analysis : results::alerts::narrowed(analysis, asked);
    results::exporters::World shorter = world;
    if (!about_alerts) {
        shorter.window.history =
            std::min(world.window.history,
                     results::alerts::history_needed(rules, analysis, world.window, asked));
    }
    auto answer = exact_->play(shorter, incident, *left, rules, narrow);
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
