// runners/commands/find/storm_command.cpp — deadrank storm: days of incidents from a published table, and how
// detection did on them. A scorecard with a row per table row: detected, correctly named, how soon, false
// alarms, time lost.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "results/record/words.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/find/storm_goodput.h"
#include "runners/commands/command.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/storm/failure_fit.h"
#include "runners/storm/storm_study.h"

namespace deadrank::runners::commands {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using results::Time;
using results::reports::Ink;
using results::reports::Style;

struct StormArguments {
    std::string storm = "llama_3", catalog;
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
    fmt::print("  {:<34}{:>7}{:>8}{:>10}{:>7}{:>12}{:>14}{:>13}\n", name, row.struck, row.played,
               row.detected, row.named, median_text(row), row.false_alarms, results::duration_text(row.lost));
}

void print_storm_text(const scenarios::Storm& storm, const StormCard& card, std::uint64_t seed) {
    const Style style = style_of(stdout);
    fmt::print("{} · seed {} · {} ranks on {} nodes · {}\n", style.paint(Ink::bold, storm.table.name), seed,
               storm.ranks(), storm.nodes, results::counted(static_cast<std::size_t>(storm.days), "day"));
    fmt::print("{}\n\n",
               style.paint(Ink::dim, fmt::format("  {} ({})", storm.table.source, storm.table.grade)));
    fmt::print("{}", style.paint(Ink::bold, fmt::format("  {:<34}{:>7}{:>8}{:>10}{:>7}{:>12}{:>14}{:>13}\n",
                                                        "incident", "struck", "played", "detected", "named",
                                                        "median", "false alarms", "work lost")));
    for (const auto& [name, row] : card.rows) print_row(name, row);
    print_row("all", card.all);
    const Time whole{storm.days * 86'400'000'000'000};
    fmt::print("\n  {:.1f} % of the time was lost\n", percent_of(card.all.lost, whole));
    std::map<std::string, std::string> troubles;
    for (const auto& one : card.incidents) {
        if (!one.trouble.empty())
            troubles[one.incident.row] = one.trouble;
        else if (!one.named)
            fmt::print("  not named: {} ({}, seed {})\n", one.incident.row, one.scenario, one.incident.seed);
    }
    for (const auto& [row, why] : troubles) fmt::print("  not played: {}: {}\n", row, why);
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
    fmt::print("{}\n", json.dump(2));
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

struct FitArguments {
    std::string table, columns;
    std::vector<std::string> by;
    std::uint64_t seed = 1;
    bool json = false;
};

Json fit_json(const FailureFit& fit) {
    Json models = Json::array();
    for (const FittedModel& one : fit.models) {
        models.push_back({{"model", name_of(one.model.kind)},
                          {"shape", one.model.shape},
                          {"shape_95", {one.low, one.high}},
                          {"scale_seconds", one.model.scale},
                          {"ks_distance", one.held.distance},
                          {"ks_chance", one.held.chance},
                          {"holds", one.holds()}});
    }
    const RepeatOffenders& again = fit.offenders;
    return {{"group", fit.group},
            {"failures", fit.failures},
            {"together", fit.together},
            {"fitted", fit.fitted},
            {"held", fit.held},
            {"mean_gap_seconds", fit.mean_gap},
            {"variation", fit.variation},
            {"models", models},
            {"places", again.places},
            {"failures_a_place", again.per_place},
            {"dispersion", again.dispersion},
            {"dispersion_95", {again.low, again.high}},
            {"often", again.often},
            {"repeat_offenders", again.count},
            {"repeat_offenders_95", {again.count_low, again.count_high}},
            {"repeat_offenders_if_independent", again.expected}};
}

void print_fit_json(const FailureTable& table, const FailureStudy& study) {
    Json fits = Json::array();
    for (const FailureFit& fit : study.fits) fits.push_back(fit_json(fit));
    fmt::print("{}\n",
               Json({{"failures", table.failures.size()}, {"notes", table.notes}, {"fits", fits}}).dump(2));
}

void print_fit_text(const FailureTable& table, const FailureStudy& study) {
    const Style style = style_of(stdout);
    for (const FailureFit& fit : study.fits) {
        fmt::print(
            "{}\n",
            style.paint(Ink::bold,
                        fmt::format("{} · {} failures · one in {:.1f} h · coefficient of variation {:.2f}",
                                    fit.group, fit.failures, fit.mean_gap / 3600, fit.variation)));
        if (fit.together > 0)
            fmt::print("  {} at the moment of another one, which count as one with it\n", fit.together);
        for (const FittedModel& one : fit.models) {
            fmt::print("  {:<11} shape {:.2f} [{:.2f}, {:.2f}]   distance {:.3f}, chance {:.2g}   {}\n",
                       name_of(one.model.kind), one.model.shape, one.low, one.high, one.held.distance,
                       one.held.chance,
                       style.paint(one.holds() ? Ink::green : Ink::red, one.holds() ? "holds" : "fails"));
        }
        const RepeatOffenders& again = fit.offenders;
        if (again.places == 0) continue;
        fmt::print(
            "  {:.0f} places, {:.2f} failures each; dispersion {:.1f} [{:.1f}, {:.1f}], 1 if they were "
            "independent\n",
            again.places, again.per_place, again.dispersion, again.low, again.high);
        fmt::print(
            "  {} [{:.0f}, {:.0f}] places failed {} times or more, {:.1f} would if they were "
            "independent\n",
            again.count, again.count_low, again.count_high, again.often, again.expected);
    }
    for (const std::string& note : table.notes) fmt::print("note: {}\n", note);
}

// What to part the table by: what is asked, else its groups. Refuses what the columns file names no column
// for.
scenarios::Result<std::vector<PartedBy>> parted_by(const FitArguments& arguments,
                                                   const FailureColumns& columns) {
    std::vector<PartedBy> by;
    if (arguments.by.empty() && !columns.group.empty()) by.push_back(PartedBy::group);
    for (const std::string& word : arguments.by) {
        const bool missing =
            (word == "group" && columns.group.empty()) || (word == "cause" && columns.cause.empty());
        if (missing)
            return scenarios::refuse(scenarios::ErrorCode::usage, "the columns file names no " + word,
                                     "write " + word + " = \"name of the column\" in it");
        by.push_back(word == "group" ? PartedBy::group : word == "cause" ? PartedBy::cause : PartedBy::year);
    }
    return by;
}

// Models are fitted to every other gap and tested on the rest. Exit code 1 when none of them holds for any
// part.
void fit_storm(const FitArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, "");
    if (!session.take(library)) return;
    const fs::path shipped = library->data / "storms" / "columns" / (arguments.columns + ".toml");
    std::error_code ignored;
    auto columns = load_failure_columns(fs::exists(shipped, ignored) ? shipped : fs::path(arguments.columns));
    if (!session.take(columns)) return;
    auto by = parted_by(arguments, *columns);
    if (!session.take(by)) return;
    auto table = read_failures(arguments.table, *columns);
    if (!session.take(table)) return;
    const FailureStudy study = study_failures(*table, *by, arguments.seed);
    if (study.fits.empty())
        return session.complain({scenarios::ErrorCode::bad_input,
                                 "there are fewer than ten gaps between failures",
                                 "a shape needs a hundred or more",
                                 {arguments.table, 0, 0}});
    arguments.json ? print_fit_json(*table, study) : print_fit_text(*table, study);
    const bool any = std::any_of(study.fits.begin(), study.fits.end(), [](const FailureFit& fit) {
        return std::any_of(fit.models.begin(), fit.models.end(),
                           [](const FittedModel& one) { return one.holds(); });
    });
    if (!any) session.code = exit_fail;
}

void add_fit(CLI::App& command, Session& session) {
    CLI::App* fit =
        command.add_subcommand("fit", "Fits renewal processes to a machine's own table of failures");
    fit->footer(
        "Every other gap between failures is fitted, and the rest held against it (Kolmogorov and Smirnov). "
        "The columns\n"
        "file maps the table (TOML: time, place, group, cause, repaired, format, zone, places); shipped are "
        "titan_gpus\n"
        "and lanl. Exit code 1: no model holds for any part of the table.\n\nExamples:\n"
        "  deadrank storm fit failures.csv --columns lanl\n"
        "  deadrank storm fit failures.csv --columns titan_gpus --by cause,year");
    auto arguments = std::make_shared<FitArguments>();
    fit->add_option("table", arguments->table,
                    "The table of failures: CSV, or with semicolons or tabs in place of commas")
        ->type_name("FILE")
        ->required();
    fit->add_option("--columns", arguments->columns,
                    "What its columns are: a file, or the name of a shipped one")
        ->type_name("FILE")
        ->required();
    fit->add_option("--by", arguments->by,
                    "Fit parts of it too, as in cause,year: group, cause, year [group, if there is one]")
        ->type_name("WORDS")
        ->delimiter(',')
        ->check(CLI::IsMember({"group", "cause", "year"}).description(""));
    fit->add_option("--seed", arguments->seed, "Draws the bootstrap's samples [1]")->type_name("N");
    add_json(*fit, arguments->json, "A JSON object with every fit");
    fit->callback([arguments, &session] { fit_storm(*arguments, session); });
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
        "  deadrank storm                          the shipped storm llama_3\n"
        "  deadrank storm stragglers --seed 7\n"
        "  deadrank storm --days 7 --nodes 256 --json");
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
    command.add_option("-j,--jobs", arguments->jobs, "Segments at once [the processors]")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    add_catalog(command, arguments->catalog);
    add_json(command, arguments->json, "A JSON object with every incident");
    add_fit(command, session);
    add_goodput(command, session);
    command.callback([arguments, &session, &command] {
        if (command.get_subcommands().empty()) storm(*arguments, session);
    });
}

}  // namespace

extern const CommandRow storm_row{
    "storm", "Days of incidents drawn from a published table, and what was noticed of them", add_storm};

}  // namespace deadrank::runners::commands
