// results/alerts/study.cpp — Healthy first, then all failures on a few threads. Judging is cheap; Prometheus
// is not.
#include "results/alerts/study.h"

#include <algorithm>
#include <atomic>
#include <fmt/format.h>
#include <mutex>
#include <thread>

#include "results/alerts/suggestion.h"

namespace deadrank::results::alerts {

namespace {

using scenarios::Result;

void judge_row(const Study& study, Row& row) {
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        if (row.played.unjudged[i] || study.healthy_played.unjudged[i]) {
            row.cells.push_back(
                {.verdict = AlertVerdict::unjudged,
                 .says = "Prometheus could not evaluate it at this size; a smaller cluster or --server can"});
            continue;
        }
        const Judged what{&study.rules[i], &study.analysis.rules[i], &study.healthy_played.activity[i],
                          &row.played.activity[i]};
        row.cells.push_back(judge_cell(what, study.healthy[i], row.incident, study.world, row.touched));
        const Cell& cell = row.cells.back();
        if (!cell.noticed() || !study.rules[i].is_alert) continue;
        if (row.best < 0 || cell.latency_low < row.cells[static_cast<std::size_t>(row.best)].latency_low) {
            row.best = static_cast<int>(i);
        }
    }
}

// What the first cause moves. Its consequences for the job are the job's to show: an alert that sees them
// counts, one that does not has missed nothing.
exporters::Touched touched_by_cause(const exporters::World& world, const exporters::Incident& incident) {
    exporters::Incident cause = incident;
    std::erase_if(cause.effects,
                  [&](const exporters::Effect& one) { return one.signature != incident.signature; });
    exporters::Touched touched = exporters::touched(world, cause);
    return touched.empty() ? exporters::touched(world, incident) : touched;
}

void play_row(const Study& study, Row& row, Player& player) {
    row.touched = touched_by_cause(study.world, row.incident);
    if (row.touched.empty()) {
        row.trouble = "no exporter of this run shows anything of it";
        return;
    }
    auto played = player.play(study.world, row.incident, study.files, study.rules, study.analysis);
    if (!played) {
        row.trouble = played.error().text();
        return;
    }
    row.played = std::move(*played);
    judge_row(study, row);
}

// Rows are independent: threads take the next one until none is left.
void play_rows(Study& study, Player& player, int jobs) {
    std::atomic<std::size_t> next{0};
    std::vector<std::thread> workers;
    for (int job = 0; job < std::max(1, jobs); ++job) {
        workers.emplace_back([&] {
            for (std::size_t i = next++; i < study.rows.size(); i = next++)
                play_row(study, study.rows[i], player);
        });
    }
    for (std::thread& worker : workers) worker.join();
}

void ask_alertmanager(Study& study, external::Amtool& amtool) {
    for (Row& row : study.rows) {
        for (Cell& cell : row.cells) {
            std::set<std::string> names;
            for (const auto& labels : cell.fired) {
                auto receivers = amtool.receivers(labels);
                if (receivers) names.insert(receivers->begin(), receivers->end());
            }
            cell.paged.assign(names.begin(), names.end());
        }
    }
}

}  // namespace

Result<void> conduct(Study& study, const std::vector<exporters::Incident>& incidents, Player& player,
                     const exporters::SignatureCatalog& signatures, const StudyOptions& options) {
    study.judge = player.name();
    auto healthy =
        player.play(study.world, exporters::healthy_run(), study.files, study.rules, study.analysis);
    if (!healthy) return tl::unexpected(healthy.error());
    study.healthy_played = std::move(*healthy);
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        study.healthy.push_back(
            judge_healthy(study.rules[i], study.healthy_played.activity[i], study.world.window));
    }
    for (const exporters::Incident& incident : incidents) study.rows.push_back({.incident = incident});
    play_rows(study, player, options.jobs);
    if (options.amtool != nullptr) ask_alertmanager(study, *options.amtool);
    if (options.suggest) suggest(study, player, signatures);
    study.cpu_seconds += study.healthy_played.cpu_seconds;
    for (const Row& row : study.rows) study.cpu_seconds += row.played.cpu_seconds;
    return {};
}

}  // namespace deadrank::results::alerts
