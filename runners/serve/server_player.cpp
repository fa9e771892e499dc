// runners/serve/server_player.cpp — Plays rules with a Prometheus server, over its own interface.
#include "runners/serve/server_player.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <fstream>
#include <nlohmann/json.hpp>
#include <span>
#include <unistd.h>

#include "results/alerts/activity.h"
#include "results/alerts/promtool_player.h"
#include "results/exporters/series.h"
#include "runners/serve/http.h"

namespace deadrank::runners::serve {

// Remote write in batches of 2,000 series × 60 samples; every series in order of time.

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

Result<std::vector<RangeSeries>> PrometheusServer::query_range(const std::string& expr, double start,
                                                               double end, double step) {
    const std::string form =
        fmt::format("query={}&start={}&end={}&step={}", form_value(expr), start, end, step);
    auto answer = ask(port_, {"POST", "/api/v1/query_range", form},
                      {{"Content-Type", "application/x-www-form-urlencoded"}}, 300);
    if (!answer) return tl::unexpected(answer.error());
    const auto json = nlohmann::json::parse(answer->body, nullptr, false);
    if (json.is_discarded() || json.value("status", "") != "success") {
        return refuse(ErrorCode::bad_input, json.is_object() ? json.value("error", "no reason given")
                                                             : answer->body.substr(0, 200));
    }
    std::vector<RangeSeries> found;
    for (const auto& one : json["data"]["result"]) {
        RangeSeries series;
        for (const auto& [name, value] : one["metric"].items())
            series.labels[name] = value.get<std::string>();
        for (const auto& point : one["values"]) series.times.push_back(point[0].get<double>());
        found.push_back(std::move(series));
    }
    return found;
}

// A fresh server for each incident: half a second, and no sample of another run in it.

namespace {

using results::alerts::Played;
using results::alerts::Rule;
using scenarios::Result;

double now() {
    return static_cast<double>(
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch())
            .count());
}

// One alert's instances, from the times at which its expression had a value.
Result<void> play_rule(PrometheusServer& server, const std::vector<Rule>& rules, std::size_t index,
                       double begin, const results::exporters::Window& window, Played& played) {
    const Rule& rule = rules[index];
    std::string why;
    const auto expr = results::alerts::expanded(rule, rules, why);
    if (!expr) {
        played.unjudged[index] = true;
        played.notes.push_back(rule.name + " is not judged by a server: " + why);
        return {};
    }
    const double step = rule.interval > 0 ? rule.interval : window.eval;
    auto found = server.query_range(*expr, begin, begin + window.duration, step);
    if (!found) {
        if (found.error().code == scenarios::ErrorCode::io) return tl::unexpected(found.error());
        played.unjudged[index] = true;
        played.notes.push_back(rule.name + " is not judged: " + found.error().what);
        return {};
    }
    for (RangeSeries& series : *found) {
        for (double& time : series.times) time -= begin;
        auto instance =
            results::alerts::instance_of(rule, series.labels, series.times, step, window.duration);
        if (!instance.firing.empty() || !instance.pending.empty())
            played.activity[index].push_back(std::move(instance));
    }
    return {};
}

}  // namespace

Result<Played> ServerPlayer::play(const results::exporters::World& world,
                                  const results::exporters::Incident& incident,
                                  const std::vector<results::alerts::RuleFile>&,
                                  const std::vector<Rule>& rules,
                                  const results::alerts::StaticAnalysis& analysis) {
    Played played;
    played.activity.resize(rules.size());
    played.unjudged.resize(rules.size(), false);
    const auto directory =
        std::filesystem::temp_directory_path() / fmt::format("deadrank-prometheus-{}", getpid());
    auto server = PrometheusServer::start(program_, directory);
    if (!server) return tl::unexpected(server.error());
    // On the grid of an hour, so that windows and subqueries are cut alike in each run.
    const double start =
        std::floor((now() - world.window.history - world.window.duration - 600) / 3600) * 3600;
    results::exporters::World dated = world;
    dated.epoch = start + world.window.history;
    if (auto written = (*server)->write(results::alerts::series_for(dated, incident, analysis), start,
                                        world.window.scrape);
        !written) {
        return tl::unexpected(written.error());
    }
    for (std::size_t i = 0; i < rules.size(); ++i) {
        if (!rules[i].is_alert) continue;
        if (auto done = play_rule(**server, rules, i, dated.epoch, world.window, played); !done)
            return tl::unexpected(done.error());
    }
    played.cpu_seconds = (*server)->cpu_seconds();
    server->reset();
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
    return played;
}

}  // namespace deadrank::runners::serve
