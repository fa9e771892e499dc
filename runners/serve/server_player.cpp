// runners/serve/server_player.cpp — A fresh server for each incident: half a second, and no sample of another
// run in it.
#include "runners/serve/server_player.h"

#include <chrono>
#include <cmath>
#include <fmt/format.h>
#include <unistd.h>

#include "results/alerts/expand.h"
#include "results/alerts/promtool_player.h"
#include "runners/serve/prometheus_api.h"

namespace deadrank::runners::serve {

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
