// runners/commands/find/storm_command.cpp — deadrank alerts storm: days of incidents from a published table,
// and how detection did on them. A scorecard with a row per table row: detected, correctly named, how soon,
// false alarms, time lost.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "results/record/words.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/storm/storm_study.h"

namespace deadrank::runners::commands {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using results::Time;
using results::reports::Ink;
using results::reports::Style;

struct StormArguments {
    std::string storm = "llama_3", gaps, catalog;
    std::uint64_t seed = 1;
    std::int64_t days = 0, nodes = 0, budget = 0;
    int jobs = 0;
    bool json = false;
};

Time median(std::vector<Time> times) {
    if (times.empty()) return Time{0};
    std::sort(times.begin(), times.end());
    return times[times.size() / 2];
}

std::string median_text(const StormRow& row) {
    return row.to_detect.empty() ? "—" : results::duration_text(median(row.to_detect));
}

double percent_of(Time part, Time whole) {
    return 100.0 * static_cast<double>(part.count()) / static_cast<double>(whole.count());
}

void print_row(const std::string& name, const StormRow& row) {
    print_out("  {:<34}{:>7}{:>8}{:>10}{:>7}{:>12}{:>14}{:>13}\n", name, row.struck, row.played, row.detected,
              row.named, median_text(row), row.false_alarms, results::duration_text(row.lost));
}

void print_storm_text(const scenarios::Storm& storm, const StormCard& card, std::uint64_t seed) {
    const Style style = style_of(stdout);
    print_out("{} · seed {} · {} ranks on {} nodes · {}\n", style.paint(Ink::bold, storm.table.name), seed,
              storm.ranks(), storm.nodes, results::counted(static_cast<std::size_t>(storm.days), "day"));
    print_out("{}\n\n",
              style.paint(Ink::dim, fmt::format("  {} ({})", storm.table.source, storm.table.grade)));
    print_out("{}", style.paint(Ink::bold, fmt::format("  {:<34}{:>7}{:>8}{:>10}{:>7}{:>12}{:>14}{:>13}\n",
                                                       "incident", "struck", "played", "detected", "named",
                                                       "median", "false alarms", "work lost")));
    for (const auto& [name, row] : card.rows) print_row(name, row);
    print_row("all", card.all);
    const Time whole{storm.days * 86'400'000'000'000};
    print_out("\n  {:.1f} % of the time was lost\n", percent_of(card.all.lost, whole));
    std::map<std::string, std::string> troubles;
    for (const auto& one : card.incidents) {
        if (!one.trouble.empty())
            troubles[one.incident.row] = one.trouble;
        else if (!one.named)
            print_out("  not named: {} ({}, seed {})\n", one.incident.row, one.scenario, one.incident.seed);
    }
    for (const auto& [row, why] : troubles) print_out("  not played: {}: {}\n", row, why);
}

Json row_json(const StormRow& row) {
    return {{"struck", row.struck},
            {"played", row.played},
            {"detected", row.detected},
            {"named", row.named},
            {"median_to_detect_ns", median(row.to_detect).count()},
            {"false_alarms", row.false_alarms},
            {"lost_ns", row.lost.count()}};
}

void print_storm_json(const scenarios::Storm& storm, const StormCard& card, std::uint64_t seed) {
    Json rows = Json::object(), incidents = Json::array();
    for (const auto& [name, row] : card.rows) rows[name] = row_json(row);
    for (const auto& one : card.incidents) {
        incidents.push_back({{"at_ns", one.incident.at},
                             {"row", one.incident.row},
                             {"scenario", one.scenario},
                             {"seed", one.incident.seed},
                             {"trouble", one.trouble},
                             {"detected", one.detected},
                             {"named", one.named},
                             {"to_detect_ns", one.to_detect.count()},
                             {"false_alarms", one.false_alarms},
                             {"lost_ns", one.lost.count()}});
    }
    const Json json = {{"storm", storm.id},
                       {"table", storm.table.id},
                       {"source", storm.table.source},
                       {"seed", seed},
                       {"days", storm.days},
                       {"ranks", storm.ranks()},
                       {"stopped", card.stopped},
                       {"all", row_json(card.all)},
                       {"rows", rows},
                       {"incidents", incidents}};
    print_out("{}\n", json.dump(2));
}

fs::path file_of(const std::string& word, const Library& library) {
    const fs::path shipped = library.data / "storms" / (word + ".toml");
    std::error_code ignored;
    return !word.ends_with(".toml") && fs::exists(shipped, ignored) ? shipped : fs::path(word);
}

void storm(const StormArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    auto storm = scenarios::load_storm(file_of(arguments.storm, *library), library->taxonomy);
    if (!session.take(storm)) return;
    if (arguments.days > 0) storm->days = arguments.days;
    if (arguments.nodes > 0) storm->nodes = arguments.nodes;
    if (arguments.budget > 0) storm->budget = arguments.budget;
    if (!arguments.gaps.empty()) {
        auto shape = scenarios::load_gap_shape(library->data / "storms" / "gaps.toml", arguments.gaps);
        if (!session.take(shape)) return;
        storm->shape = *shape;
    }
    auto selection = select(*library, {});
    if (!session.take(selection)) return;
    std::atomic<bool>& stop = stop_on_interrupt();
    Progress progress;
    StormOptions options;
    options.threads = arguments.jobs > 0 ? arguments.jobs : usual_jobs("sim");
    options.stop = &stop;
    options.progress = [&](std::size_t done, std::size_t all) {
        progress.show(fmt::format("{} of {} incidents", done, all));
    };
    const StormCard card = play_storm(
        *storm, arguments.seed, selection->scenarios, library->vocabulary,
        [&] { return std::move(*make_runner("sim", session.extension)); }, options);
    progress.clear();
    if (arguments.json)
        print_storm_json(*storm, card, arguments.seed);
    else
        print_storm_text(*storm, card, arguments.seed);
    if (card.all.named < card.all.played || card.all.false_alarms > 0) session.code = exit_fail;
    if (card.stopped) session.code = exit_interrupted;
}

void add_storm(CLI::App& command, Session& session) {
    command.footer(
        "A storm is a file (scenarios/storms): a table of incidents with its source, the scenarios that "
        "stand for its "
        "rows, a cluster and a budget. The seed draws when which row strikes. Around each incident a segment "
        "of the "
        "job is played on that cluster, with the fault and without; then the job starts again from its last "
        "checkpoint. Time between is accounted for, not played.\n\n"
        "Exit code: 0 every incident played was named and nothing rang falsely, 1 otherwise, 64 usage, 130 "
        "stopped.\n\n"
        "Examples:\n"
        "  deadrank alerts storm                          the shipped storm llama_3\n"
        "  deadrank alerts storm stragglers --seed 7\n"
        "  deadrank alerts storm --gaps lanl_2            in bursts, as on a machine of Los Alamos\n"
        "  deadrank alerts storm --days 7 --nodes 256 --json");
    auto arguments = std::make_shared<StormArguments>();
    command.add_option("storm", arguments->storm, "Name of a shipped storm, or a file [llama_3]")
        ->type_name("STORM");
    command.add_option("--seed", arguments->seed, "Draws the storm [1]")->type_name("N");
    const auto positive = CLI::Range(std::int64_t{1}, std::int64_t{100'000}).description("");
    command.add_option("--days", arguments->days, "Instead of the file's")->type_name("N")->check(positive);
    command.add_option("--nodes", arguments->nodes, "Instead of the file's")->type_name("N")->check(positive);
    command.add_option("--budget", arguments->budget, "Incidents at most, instead of the file's")
        ->type_name("N")
        ->check(positive);
    command
        .add_option("--gaps", arguments->gaps,
                    "A machine of scenarios/storms/gaps.toml, whose failures come in bursts as fitted there")
        ->type_name("MACHINE");
    command.add_option("-j,--jobs", arguments->jobs, "Segments at once [the processors]")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    add_catalog(command, arguments->catalog);
    add_json(command, arguments->json, "A JSON object with every incident");
    command.callback([arguments, &session] { storm(*arguments, session); });
}

}  // namespace

extern const CommandRow storm_row{
    "storm", "Plays days of incidents drawn from a published table, and counts what was noticed", add_storm};

}  // namespace deadrank::runners::commands
