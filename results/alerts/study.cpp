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

std::string why_unjudged(const Study& study, const Row& row, std::size_t rule) {
    for (const PlayerAnswer* played : {&row.played, &study.healthy_played}) {
        const auto at = played->why_unjudged.find(rule);
        if (at == played->why_unjudged.end()) continue;
        if (at->second.find("too many samples") != std::string::npos) break;
        return "could not be evaluated, so it can never fire: " + without_examples(at->second);
    }
    return "could not be evaluated by promtool at this size; a smaller cluster or --server can";
}

void judge_row(const Study& study, Row& row) {
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        if (row.played.unjudged[i] || study.healthy_played.unjudged[i]) {
            row.cells.push_back({.verdict = AlertVerdict::unjudged, .says = why_unjudged(study, row, i)});
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
    auto played = player.play(study.world, row.incident, study.files, study.rules, study.analysis);
    if (!played) {
        row.trouble = played.error().text();
        return;
    }
    row.played = std::move(*played);
    judge_row(study, row);
}

// Rows are independent: threads take the next one until none is left, or no time.
void play_rows(Study& study, Player& player, const StudyOptions& options, const std::function<bool()>& over) {
    std::atomic<std::size_t> next{0}, done{0};
    std::mutex telling;
    const auto work = [&] {
        for (std::size_t i = next++; i < study.rows.size(); i = next++) {
            if (!over()) play_row(study, study.rows[i], player);
            // A row in progress when the signal came has lost its Prometheus.
            if (over() && study.rows[i].cells.empty())
                study.rows[i].trouble = "there was no time left for it";
            const std::size_t so_far = ++done;
            if (!options.progress) continue;
            const std::lock_guard lock(telling);
            options.progress(so_far, study.rows.size(), study.rows[i].incident.id);
        }
    };
    std::vector<std::thread> workers;
    for (int job = 1; job < options.jobs; ++job) workers.emplace_back(work);
    work();
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
    const auto began = std::chrono::steady_clock::now();
    const std::function<bool()> over = [began, stop = options.stop, limit = options.limit] {
        const std::chrono::duration<double> spent = std::chrono::steady_clock::now() - began;
        return (stop != nullptr && stop->load()) || (limit > 0 && spent.count() > limit);
    };
    player.stop_when(over);
    if (options.progress) options.progress(0, incidents.size(), "the healthy run");
    auto healthy =
        player.play(study.world, exporters::healthy_run(), study.files, study.rules, study.analysis);
    study.complete = healthy || !over();
    if (!healthy) return study.complete ? Result<void>(tl::unexpected(healthy.error())) : Result<void>();
    study.healthy_played = std::move(*healthy);
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        study.healthy.push_back(
            judge_healthy(study.rules[i], study.healthy_played.activity[i], study.world.window));
    }
    for (const exporters::Incident& incident : incidents) study.rows.push_back({.incident = incident});
    play_rows(study, player, options, over);
    if (options.amtool != nullptr) ask_alertmanager(study, *options.amtool);
    if (options.suggest) {
        if (auto done = suggest(study, player, signatures, over); !done) return tl::unexpected(done.error());
    }
    study.complete = !over();
    study.cpu_seconds += study.healthy_played.cpu_seconds;
    for (const Row& row : study.rows) study.cpu_seconds += row.played.cpu_seconds;
    return {};
}

namespace {

std::map<std::map<std::string, std::string>, std::vector<std::pair<double, double>>> told(
    const std::vector<Instance>& instances) {
    std::map<std::map<std::string, std::string>, std::vector<std::pair<double, double>>> all;
    for (const Instance& one : instances) {
        for (const Interval& each : one.firing) all[one.labels].emplace_back(each.begin, each.end);
    }
    return all;
}

// The numbers 0 … count-1 in a drawn order.
std::vector<std::size_t> drawn(std::size_t count, std::uint64_t seed) {
    std::vector<std::size_t> order(count);
    for (std::size_t i = 0; i < count; ++i) order[i] = i;
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return exporters::mixed(seed ^ a) < exporters::mixed(seed ^ b);
    });
    return order;
}

// Names of drawn alerts, without those that look back more than two hours, as promtool evaluates every rule
// at each step of that time, and without those that read the state of others, which would all have to be
// asked.
std::set<std::string> sample_of(const Study& study, const Row& row, std::uint64_t seed, std::size_t most) {
    constexpr double hours = 2 * 3600;
    std::set<std::string> names, far;
    for (std::size_t i = 0; i < study.rules.size(); ++i) {
        const double past = study.analysis.rules[i].look_back + study.rules[i].hold;
        if (past > hours || study.analysis.rules[i].metrics.contains("ALERTS"))
            far.insert(study.rules[i].name);
    }
    for (const std::size_t i : drawn(study.rules.size(), seed)) {
        const std::string& name = study.rules[i].name;
        const bool asked =
            study.rules[i].is_alert && !study.analysis.rules[i].dead && !row.played.unjudged[i];
        if (asked && !far.contains(name) && names.size() < most) names.insert(name);
    }
    return names;
}

}  // namespace

std::vector<std::string> confirm(const Study& study, Player& other, std::size_t rows, std::size_t alerts,
                                 const std::filesystem::path& scratch, std::size_t& asked) {
    std::vector<std::string> differences;
    for (const std::size_t number : drawn(study.rows.size(), study.world.seed)) {
        const Row& row = study.rows[number];
        if (rows == 0) break;
        if (row.cells.empty()) continue;
        --rows;
        const std::set<std::string> names = sample_of(study, row, study.world.seed + number, alerts);
        std::set<std::string> others;
        for (const Rule& rule : study.rules) {
            if (rule.is_alert && !names.contains(rule.name)) others.insert(rule.name);
        }
        std::vector<RuleFile> files;
        for (const RuleFile& file : study.files) {
            auto copy = without_rules(file, others, scratch / "copies");
            if (copy) files.push_back(std::move(*copy));
        }
        std::vector<bool> wanted(study.rules.size());
        for (std::size_t i = 0; i < wanted.size(); ++i) wanted[i] = names.contains(study.rules[i].name);
        auto analysis = narrowed(study.analysis, wanted);
        for (std::size_t i = 0; i < wanted.size(); ++i)
            analysis.rules[i].dead |= study.rules[i].is_alert && !wanted[i];  // not in these files
        exporters::World world = study.world;
        world.window.history = history_needed(study.rules, analysis, study.world.window, wanted);
        auto played = other.play(world, row.incident, files, study.rules, analysis);
        if (!played) continue;  // stopped, or out of memory: no disagreement
        for (std::size_t i = 0; i < wanted.size(); ++i) {
            if (!wanted[i] || !study.rules[i].is_alert || played->unjudged[i]) continue;
            ++asked;
            if (told(played->activity[i]) != told(row.played.activity[i]))
                differences.push_back(fmt::format("{} under {}", study.rules[i].name, row.incident.id));
        }
    }
    return differences;
}

// ── Suggestions become a rule file of their own, and are played like any other.

namespace {

// Alerts that are not the operator's, each as a file that Prometheus reads.
struct Trial {
    std::vector<RuleFile> files;
    std::vector<Rule> rules;
    StaticAnalysis analysis;
};

Result<void> add_trial(const Tried& tried, const std::string& id, const std::filesystem::path& directory,
                       Trial& trial) {
    Rule rule{.name = "Suggested_" + id, .expr = tried.expr, .group = id};
    rule.hold = std::max(0.0, exporters::seconds_of(tried.hold));
    RuleFile file{.path = "suggestion"};
    file.content = fmt::format("groups:\n- name: {}\n  rules:\n  - alert: {}\n    expr: {}\n{}", id,
                               rule.name, exporters::label_value(tried.expr),
                               tried.hold.empty() ? "" : "    for: " + tried.hold + "\n");
    file.loaded = (directory / (id + ".yml")).string();
    if (auto written = write_text(file.content, file.loaded); !written) return written;
    trial.files.push_back(std::move(file));
    trial.rules.push_back(std::move(rule));
    return {};
}

Result<Trial> trial_of(const Tried& tried, const std::string& id, const std::filesystem::path& directory,
                       const Study& study, const Emitted& emitted) {
    Trial trial;
    if (auto added = add_trial(tried, id, directory, trial); !added) return tl::unexpected(added.error());
    trial.analysis = analyse(trial.rules, emitted, study.world);
    return trial;
}

bool fires(const std::vector<Instance>& played) {
    return std::any_of(played.begin(), played.end(), [](const Instance& one) { return !one.firing.empty(); });
}

double first_after(const PlayerAnswer& played, double at) {
    double first = -1;
    for (const Instance& instance : played.activity[0]) {
        for (const Interval& one : instance.firing) {
            if (one.begin >= at && (first < 0 || one.begin < first)) first = one.begin;
        }
    }
    return first;
}

// What is suggested for the failures that nothing caught in time, by row.
std::map<std::size_t, Tried> suggestions_for(const Study& study) {
    std::map<std::size_t, Tried> all;
    for (std::size_t i = 0; i < study.rows.size(); ++i) {
        const Row& row = study.rows[i];
        const bool caught =
            row.best >= 0 && row.cells[static_cast<std::size_t>(row.best)].in_time(row.incident.within);
        const exporters::Signature* signature = row.incident.signature;
        if (caught || !row.trouble.empty() || signature == nullptr || signature->suggest.expr.empty())
            continue;
        all[i] = {in_site_words(signature->suggest.expr, study.world), signature->suggest.hold,
                  signature->suggest.says};
    }
    return all;
}

// Which of them are silent on the healthy run: all are asked in one run. Empty when it was stopped.
std::map<std::size_t, bool> quiet_when_healthy(const std::map<std::size_t, Tried>& all,
                                               const std::filesystem::path& directory, Study& study,
                                               Player& player, const Emitted& emitted) {
    Trial trial;
    for (const auto& [row, tried] : all) {
        if (tried.available && !add_trial(tried, fmt::format("healthy_{}", row), directory, trial)) return {};
    }
    if (trial.rules.empty()) return {};
    trial.analysis = analyse(trial.rules, emitted, study.world);
    exporters::Incident healthy = exporters::healthy_run();
    healthy.id = "suggested/healthy";
    const auto usual = player.play(study.world, healthy, trial.files, trial.rules, trial.analysis);
    if (!usual) return {};
    study.cpu_seconds += usual->cpu_seconds;
    std::map<std::size_t, bool> quiet;
    std::size_t rule = 0;
    for (const auto& [row, tried] : all) {
        if (tried.available) quiet[row] = !fires(usual->activity[rule++]);
    }
    return quiet;
}

}  // namespace

std::string in_site_words(std::string expr, const exporters::World& world) {
    const auto replace_all = [&](const std::string& from, const std::string& to) {
        for (std::size_t at = expr.find(from); from != to && at != std::string::npos;
             at = expr.find(from, at + to.size())) {
            const bool inside = at + from.size() < expr.size() &&
                                (std::isalnum(static_cast<unsigned char>(expr[at + from.size()])) != 0 ||
                                 expr[at + from.size()] == '_');
            if (!inside) expr.replace(at, from.size(), to);
        }
    };
    for (const exporters::Metric& metric : world.catalog->metrics) {
        if (expr.find(metric.name) != std::string::npos)
            replace_all(metric.name, world.profile.shown_name(metric));
    }
    for (const auto& [exporter, job] : world.profile.map.jobs)
        replace_all("\"" + exporter + "-exporter\"", "\"" + job + "\"");
    return expr;
}

Result<void> suggest(Study& study, Player& player, const exporters::SignatureCatalog& signatures,
                     const std::function<bool()>& stopped) {
    const Emitted emitted(study.world, signatures);
    std::map<std::size_t, Tried> all = suggestions_for(study);
    const auto directory = external::Scratch::make();
    if (!directory) return tl::unexpected(directory.error());
    std::map<std::size_t, Trial> trials;
    for (auto& [row, tried] : all) {
        auto trial =
            trial_of(tried, study.rows[row].incident.signature->id, directory->path(), study, emitted);
        if (!trial) return tl::unexpected(trial.error());
        trials[row] = std::move(*trial);
        tried.available = !trials[row].analysis.rules[0].dead;
    }
    const auto quiet = quiet_when_healthy(all, directory->path(), study, player, emitted);
    for (auto& [number, tried] : all) {
        if (stopped && stopped()) break;
        Row& row = study.rows[number];
        const Trial& trial = trials[number];
        if (const auto usual = quiet.find(number); usual != quiet.end()) {
            exporters::Incident incident = row.incident;
            incident.id = "suggested/" + incident.id;
            auto failing = player.play(study.world, incident, trial.files, trial.rules, trial.analysis);
            if (failing) {
                const double first = first_after(*failing, row.incident.at);
                tried.fired = first >= 0;
                tried.latency_low = first - row.incident.at;
                tried.quiet_when_healthy = usual->second;
                study.cpu_seconds += failing->cpu_seconds;
            }
        }
        row.suggestion = std::move(tried);
    }
    return {};
}

}  // namespace deadrank::results::alerts
