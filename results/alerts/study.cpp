// results/alerts/study.cpp — All rules against all failures, and what would have caught the missed ones.
#include "results/alerts/study.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <fmt/format.h>
#include <mutex>
#include <thread>

#include "results/alerts/emitted.h"
#include "results/exporters/noise.h"
#include "results/exporters/toml_file.h"
#include "results/external/tool_program.h"
#include "results/record/text_file.h"

namespace deadrank::results::alerts {

// ── Healthy first, then all failures on a few threads. Judging is cheap; Prometheus is not.

namespace {

using scenarios::Result;

// Prometheus' words, and what follows from them.
std::string why_unjudged(const Study& study, const Row& row, std::size_t rule) {
    for (const PlayerAnswer* played : {&study.healthy_played, &row.played}) {
        const auto at = played->why_unjudged.find(rule);
        if (at == played->why_unjudged.end()) continue;
        const Refusal& why = at->second;
        const std::string reads = why.record.empty() ? "" : fmt::format(", and it reads '{}'", why.record);
        if (why.words.find("too many samples") != std::string::npos)
            return fmt::format(
                "promtool holds 10,000 samples in a query, and this one needs more{}: judge a "
                "smaller cluster (--cluster)",
                reads);
        return fmt::format("Prometheus refuses to evaluate {}{}: {}", why.record.empty() ? "it" : "a rule",
                           played == &study.healthy_played
                               ? " on a healthy cluster" + reads
                               : fmt::format(" {} into the run{}", exporters::duration_text(why.time), reads),
                           without_examples(why.words));
    }
    return "promtool gave no answer";
}

void judge_row(const Study& study, Row& row) {
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        if (row.played.unjudged[i] || study.healthy_played.unjudged[i]) {
            row.cells.push_back({.verdict = AlertVerdict::unjudged, .says = why_unjudged(study, row, i)});
            continue;
        }
        const Judged what{&study.rules[i],
                          &study.analysis.rules[i],
                          &study.healthy_played.activity[i],
                          &row.played.activity[i],
                          &study.healthy_played.curves,
                          &row.played.curves,
                          &study.healthy_played.far,
                          &row.played.far,
                          i,
                          row.played.eval[i]};
        row.cells.push_back(judge_cell(what, study.healthy[i], row.incident, study.world, row.touched));
        const Cell& cell = row.cells.back();
        if (!cell.noticed() || !study.rules[i].is_alert) continue;
        if (row.best < 0 || cell.latency_low < row.cells[static_cast<std::size_t>(row.best)].latency_low) {
            row.best = static_cast<int>(i);
        }
    }
}

// An alert that was ever active is not one that cannot fire, whatever else was found.
void revive_active(Study& study) {
    const auto active = [](const PlayerAnswer& played, std::size_t rule) {
        return rule < played.activity.size() && !played.activity[rule].empty();
    };
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        const AlertVerdict healthy = study.healthy[i].verdict;
        if (healthy == AlertVerdict::not_simulated || healthy == AlertVerdict::your_names) continue;
        const bool any = active(study.healthy_played, i) ||
                         std::any_of(study.rows.begin(), study.rows.end(),
                                     [&](const Row& row) { return active(row.played, i); });
        DeadKind& kind = study.analysis.rules[i].dead_kind;
        // In a unit test scrapes and evaluations coincide, and a short range holds one sample more.
        if (any && kind != DeadKind::range_too_short) kind = DeadKind::none;
    }
}

// What the first cause moves, without its consequences for the job: an alert that sees those counts, but one
// that does not has missed nothing.
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
    auto played = player.play(study.world, row.incident, study.files, study.rules, study.analysis,
                              &study.healthy_played);
    if (!played) {
        row.trouble = played.error().text();
        row.failed = played.error().code == scenarios::ErrorCode::environment ||
                     played.error().code == scenarios::ErrorCode::io;
        return;
    }
    row.played = std::move(*played);
}

void play_rows(Study& study, Player& player, const StudyOptions& options, const std::function<bool()>& over) {
    std::size_t done = 0;
    std::mutex telling;
    each_of(study.rows.size(), options.jobs, [&](std::size_t i) {
        if (!over()) play_row(study, study.rows[i], player);
        // A row in progress when the signal came has lost its promtool.
        if (over() && study.rows[i].played.activity.empty())
            study.rows[i].trouble = "there was no time left for it";
        const std::lock_guard lock(telling);
        if (options.progress) options.progress(++done, study.rows.size(), study.rows[i].incident.id);
    });
    revive_active(study);
    for (Row& row : study.rows) {
        if (row.trouble.empty()) judge_row(study, row);
    }
}

}  // namespace

std::size_t Study::unjudged_rows() const {
    return static_cast<std::size_t>(
        std::count_if(rows.begin(), rows.end(), [](const Row& row) { return !row.trouble.empty(); }));
}

bool StudyOptions::over() const {
    const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;
    return (stop != nullptr && stop->load()) || (limit > 0 && spent.count() > limit);
}

void each_of(std::size_t count, int jobs, const std::function<void(std::size_t)>& use) {
    std::atomic<std::size_t> next{0};
    const auto work = [&] {
        for (std::size_t i = next++; i < count; i = next++) use(i);
    };
    std::vector<std::thread> workers;
    for (int job = 1; job < jobs; ++job) workers.emplace_back(work);
    work();
    for (std::thread& worker : workers) worker.join();
}

void choose_profile(Study& study) {
    auto& profile = study.world.profile;
    profile.why = kubernetes_reason(study.files, study.world);
    if (profile.why.empty()) return;
    exporters::put_in_kubernetes(profile, *study.world.catalog);
    study.notes.push_back(fmt::format(
        "judged under the profile kubernetes: {} (--profile dcgm-default judges without)", profile.why));
}

Result<void> conduct(Study& study, const std::vector<exporters::Incident>& incidents, Player& player,
                     const exporters::SignatureCatalog& signatures, const StudyOptions& options) {
    study.judge = player.name();
    const std::function<bool()> over = [options] { return options.over(); };
    player.stop_when(over);
    if (options.progress) options.progress(0, incidents.size(), "the healthy run");
    const Emitted emitted(study.world, signatures);
    auto there = player.presence(study.rules, study.analysis, emitted);
    if (there) explain_silence(study.rules, *there, emitted, study.world, study.analysis);
    if (!there && !over()) return tl::unexpected(there.error());
    auto healthy =
        player.play(study.world, exporters::healthy_run(), study.files, study.rules, study.analysis, nullptr);
    study.complete = healthy || !over();
    if (!healthy) return study.complete ? Result<void>(tl::unexpected(healthy.error())) : Result<void>();
    study.healthy_played = std::move(*healthy);
    try_hints(study, player, emitted);
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        RuleReads& reads = study.analysis.rules[i];
        const bool has_short_range = reads.dead_kind == DeadKind::range_too_short;
        study.healthy.push_back(
            has_short_range
                ? HealthyRow{}
                : judge_healthy(study.rules[i], reads, study.healthy_played.activity[i], study.world.window));
        const HealthyRow& row = study.healthy.back();
        if (row.verdict != AlertVerdict::not_simulated && row.verdict != AlertVerdict::your_names) continue;
        reads.dead_kind = reads.unseen.kind;
        reads.why_dead = row.says;
        reads.remedy = reads.unseen.remedy;
    }
    for (const exporters::Incident& incident : incidents) study.rows.push_back({.incident = incident});
    play_rows(study, player, options, over);
    if (options.suggest) {
        if (auto done = suggest(study, player, signatures, options); !done)
            return tl::unexpected(done.error());
    }
    study.complete = !over() && std::none_of(study.rows.begin(), study.rows.end(),
                                             [](const Row& row) { return row.failed; });
    study.cpu_seconds += study.healthy_played.cpu_seconds;
    for (const Row& row : study.rows) study.cpu_seconds += row.played.cpu_seconds;
    return {};
}

}  // namespace deadrank::results::alerts
