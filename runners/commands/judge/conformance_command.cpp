// runners/commands/judge/conformance_command.cpp — deadrank score conformance: does a user's detector keep to
// the protocol? Plays one small scenario as material, and runs the command on it.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/ranges.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/pipeline/play_trial.h"
#include "runners/score/tools.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners::commands {

namespace {

constexpr const char* shown_scenario = "communication/rank_leaves_all_reduce";

struct ConformanceArguments {
    std::string command, catalog;
    double time_limit = 60;
    bool json = false;
};

struct Shown {
    Played healthy, faulty;
};

scenarios::Result<Shown> play_shown(const Library& library) {
    auto runner = make_runner("sim");
    if (!runner) return tl::unexpected(runner.error());
    SelectionOptions one;
    one.names = {shown_scenario};
    auto selection = select(library, one);
    if (!selection) return tl::unexpected(selection.error());
    if (selection->scenarios.empty()) return tl::unexpected(selection->broken.front());
    auto trial = scenarios::resolve(selection->scenarios.front(), scenarios::Seed{1},
                                    (*runner)->capabilities(), library.vocabulary);
    if (!trial) return tl::unexpected(trial.error());
    const results::Detectors none;
    PipelineOptions options;
    options.detectors = &none;
    auto healthy = play_plan(trial->control, **runner, options);
    if (!healthy) return tl::unexpected(healthy.error());
    auto faulty = play_plan(trial->fault, **runner, options);
    if (!faulty) return tl::unexpected(faulty.error());
    return Shown{std::move(*healthy), std::move(*faulty)};
}

void print_conformance(const std::vector<ConformanceCheck>& checks, bool json) {
    const results::reports::Style style = style_of(stdout);
    for (const ConformanceCheck& check : checks) {
        if (json) {
            const nlohmann::ordered_json line = {
                {"check", check.name}, {"passed", check.passed}, {"says", check.says}};
            print_out("{}\n", line.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
        } else {
            using results::reports::Ink;
            print_out("  {} {}\n      {}\n",
                      style.paint(check.passed ? Ink::green : Ink::red, check.passed ? "✔" : "✘"), check.name,
                      style.paint(Ink::dim, check.says));
        }
    }
}

void conformance(const ConformanceArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    auto command = results::external::parse_command(arguments.command);
    if (!session.take(command)) return;
    auto shown = play_shown(*library);
    if (!session.take(shown)) return;
    const std::vector<std::string> symptoms = scenarios::ids(library->taxonomy.symptoms);
    std::atomic<bool>& stop = stop_on_interrupt();
    results::processes::Bounds bounds;
    bounds.time = std::chrono::milliseconds(static_cast<std::int64_t>(arguments.time_limit * 1000));
    bounds.stopped = [&stop] { return stop.load(); };
    const results::external::CommandDetector detector(*command, symptoms, bounds);
    const auto checks = check_conformance(
        detector, {&shown->healthy.record.evidence, &shown->faulty.record.evidence, symptoms});
    print_conformance(checks, arguments.json);
    const bool all = std::all_of(checks.begin(), checks.end(), [](const auto& one) { return one.passed; });
    session.code = stop.load() ? exit_interrupted : all ? exit_pass : exit_fail;
}

void add_conformance(CLI::App& command, Session& session) {
    command.footer(
        "The command gets a run's evidence directory where a word holds {evidence}, else events as JSON "
        "lines "
        "on standard input, and answers with findings as JSON lines. docs/guides/external_tools.md has the "
        "protocol.\n\n"
        "Exit code: 0 it keeps to it, 1 it does not, 64 the command line is wrong.\n\n"
        "Examples:\n"
        "  deadrank score conformance 'python3 results/external/examples/who_never_came.py'\n"
        "  deadrank score conformance 'mine=./mine.sh {evidence}' --time-limit 5");
    auto arguments = std::make_shared<ConformanceArguments>();
    command.add_option("command", arguments->command, "The detector's command, in quotes")
        ->required()
        ->type_name("COMMAND");
    command.add_option("--time-limit", arguments->time_limit, "Seconds for each answer [60]")
        ->type_name("SECONDS")
        ->check(number_between(0.1, 3600.0));
    add_catalog(command, arguments->catalog);
    add_json(command, arguments->json, "One JSON object a line and check");
    command.callback([arguments, &session] { conformance(*arguments, session); });
}

}  // namespace

extern const CommandRow conformance_row{
    "conformance", "Tries whether a detector of yours keeps to the protocol, before it is judged",
    add_conformance};

}  // namespace deadrank::runners::commands
