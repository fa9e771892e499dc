// runners/commands/parity.cpp — Each scenario that both can play, in the simulator and for real; the rate at
// the end is the project's claim to truth.
#include "runners/commands/parity.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "results/reports/json_parts.h"
#include "results/reports/terminal.h"
#include "results/words.h"
#include "runners/commands/backend.h"
#include "runners/commands/interrupt.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/parity.h"

namespace deadrank::runners::commands {

namespace {

using results::reports::Ink;
using results::reports::Json;
using results::reports::Style;

struct Arguments {
    SelectionOptions selection;
    std::string runner = "local";
    std::uint64_t seed = 1;
    std::int64_t ranks_most = 8;
    bool json = false;
};

void print_json(const Compared& one) {
    const Json json = {{"scenario", one.scenario},
                       {"parity", name_of(one.parity)},
                       {"simulated", one.simulated},
                       {"real", one.real},
                       {"why", one.why}};
    fmt::print("{}\n", results::reports::dumped(json));
    std::fflush(stdout);
}

void print_text(const Compared& one, const Style& style) {
    const bool good = one.parity == Parity::agree || one.parity == Parity::explained;
    const Ink ink = one.parity == Parity::not_played ? Ink::dim : good ? Ink::green : Ink::red;
    fmt::print("  {} {}\n", style.paint(ink, fmt::format("{:<10}", name_of(one.parity))), one.scenario);
    if (one.parity == Parity::agree) fmt::print("{:13}{}\n", "", listed(one.real));
    if (one.parity == Parity::explained || one.parity == Parity::differ)
        fmt::print("{0:13}sim   {1}\n{0:13}real  {2}\n", "", listed(one.simulated), listed(one.real));
    if (one.parity != Parity::agree && !one.why.empty()) fmt::print("{:13}{}\n", "", one.why);
    std::fflush(stdout);
}

void parity(const Arguments& arguments, Session& session) {
    auto library = open_library(session, arguments.selection.catalog);
    if (!session.take(library)) return;
    auto sim = make_runner("sim", session.extension);
    auto reality = make_runner(arguments.runner, session.extension);
    if (!session.take(sim) || !session.take(reality)) return;
    auto selection = select(*library, arguments.selection);
    if (!session.take(selection)) return;
    for (const scenarios::Error& error : selection->broken) session.complain(error);
    if (arguments.selection.names.empty())
        std::erase_if(selection->scenarios,
                      [&](const auto& one) { return !playable_on(one, arguments.runner); });
    std::atomic<bool>& stop = stop_on_interrupt();
    LineOptions options;
    options.stop = &stop;
    ParityRate rate;
    Progress progress;
    for (const scenarios::Scenario& scenario : selection->scenarios) {
        if (stop.load()) break;
        progress.show(fmt::format("  {} of {}: {}", rate.played() + rate.not_played,
                                  selection->scenarios.size(), scenario.id));
        const Compared one = compare(scenario, {arguments.seed}, **sim, **reality, arguments.ranks_most,
                                     library->vocabulary, options);
        progress.clear();
        if (stop.load()) break;
        rate.add(one.parity);
        arguments.json ? print_json(one) : print_text(one, style_of(stdout));
    }
    if (!arguments.json) fmt::print("\n  {}\n", rate.text(arguments.runner));
    if (!arguments.json && rate.not_played > 0)
        fmt::print("  {} could not be played by both\n", results::counted(rate.not_played, "scenario"));
    if (session.code == exit_pass && rate.played() == 0) session.code = exit_unknown;
    if (rate.differed > 0) session.code = exit_fail;
    if (stop.load()) session.code = exit_interrupted;
}

}  // namespace

void add_parity(CLI::App& app, Session& session) {
    CLI::App* command = app.add_subcommand(
        "parity", "Plays scenarios in the simulator and for real, and tells how often the findings agree");
    command->footer(
        "Without names: each scenario whose `backends` has that runner. What is compared is who is said to "
        "be "
        "ill, and of "
        "what. A scenario whose [parity] has a reason for that runner may differ.\n\n"
        "Exit code: 0 each difference has a reason, 1 one has none, 2 nothing could be played by both.\n\n"
        "Examples:\n"
        "  deadrank parity                               the catalog, against real PyTorch processes\n"
        "  deadrank parity --runner mpi --ranks-most 4   against Open MPI, on four ranks at most\n"
        "  deadrank parity communication --json");
    auto arguments = std::make_shared<Arguments>();
    add_selection(*command, arguments->selection);
    command
        ->add_option("--runner", arguments->runner, "What is held against the simulator: local, mpi [local]")
        ->type_name("NAME");
    command->add_option("--seed", arguments->seed, "The draw that both play [1]")->type_name("N");
    command
        ->add_option("--ranks-most", arguments->ranks_most,
                     "Larger scenarios are played by both on that many ranks [8]")
        ->type_name("N")
        ->check(CLI::Range(1, 1024).description(""));
    add_json(*command, arguments->json, "One JSON object a line and scenario");
    command->callback([arguments, &session] { parity(*arguments, session); });
}

}  // namespace deadrank::runners::commands
