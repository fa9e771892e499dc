// runners/commands/replay.cpp — The same plan must be the same run. Where it is not, the first event that
// differs is named.
#include "runners/commands/replay.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "runners/commands/interrupt.h"
#include "runners/commands/options.h"
#include "runners/commands/replaying.h"
#include "runners/commands/screen.h"

namespace deadrank::runners::commands {

namespace {

using results::reports::Ink;

struct Arguments {
    std::string what, against, catalog, runner = "sim";
    bool json = false;
};

int code_of(const Replayed& replayed) {
    switch (replayed.outcome) {
        case Replayed::reproduced:
            return exit_pass;
        case Replayed::differs:
            return exit_fail;
        default:
            return exit_unknown;
    }
}

void print_json(const Replayed& replayed) {
    const nlohmann::ordered_json json = {{"outcome", name_of(replayed.outcome)},
                                         {"says", replayed.says},
                                         {"first_difference", replayed.difference},
                                         {"trace_hash", fmt::format("{:016x}", replayed.trace_hash)},
                                         {"events", replayed.events},
                                         {"token", replayed.token},
                                         {"verdict", name_of(replayed.judgement.verdict)},
                                         {"reason", replayed.judgement.reason},
                                         {"notes", replayed.notes}};
    fmt::print("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_text(const Replayed& replayed) {
    const auto style = style_of(stdout);
    const auto row = [&](std::string_view label, const std::string& text, Ink ink = Ink::plain) {
        if (text.empty()) return;
        fmt::print("  {}{}\n", style.paint(Ink::dim, results::reports::pad_right(label, 12)),
                   style.paint(ink, text));
    };
    const bool good = replayed.outcome == Replayed::reproduced;
    fmt::print("{} {}\n", style.paint(good ? Ink::green : Ink::yellow, good ? "✔" : "✘"),
               style.paint(Ink::bold, replayed.says));
    row("first", replayed.difference, Ink::red);
    row("hash", fmt::format("{:016x} over {} events", replayed.trace_hash, replayed.events));
    row("verdict", fmt::format("{}: {}", name_of(replayed.judgement.verdict), replayed.judgement.reason));
    row("token", replayed.token, Ink::cyan);
    for (const std::string& note : replayed.notes) row("note", note, Ink::dim);
}

void replay(const Arguments& arguments, Session& session) {
    auto library = open_library(session, arguments.catalog);
    if (!session.take(library)) return;
    auto wanted = arguments.what.starts_with("dr1-")
                      ? wanted_by_token(*library, arguments.what)
                      : wanted_by_plan(*library, arguments.what, arguments.runner);
    if (!session.take(wanted)) return;
    if (!arguments.against.empty()) wanted->against = arguments.against;
    auto replayed = play_again(*library, *wanted, stop_on_interrupt());
    if (!session.take(replayed)) return;
    arguments.json ? print_json(*replayed) : print_text(*replayed);
    session.code = code_of(*replayed);
}

}  // namespace

void add_replay(CLI::App& app, Session& session) {
    CLI::App* command =
        app.add_subcommand("replay", "Plays a token or a plan again and compares the two runs");
    command->footer(
        "A token (dr1-…, from any report) is played from the catalog and compared by its trace hash. A plan "
        "is compared with "
        "the evidence that lies beside it; without any it is played twice. Exit code 0: reproduced, 1: it "
        "differs, 2: it "
        "cannot be told.\n\n"
        "Examples:\n"
        "  deadrank replay dr1-0a1b2c3d4e5f-sim-communication/rank_leaves_all_reduce-7-…\n"
        "  deadrank replay out/communication/rank_leaves_all_reduce/7/plan.toml");
    auto arguments = std::make_shared<Arguments>();
    command->add_option("what", arguments->what, "A token or a plan's file")
        ->required()
        ->type_name("TOKEN|PLAN");
    command->add_option("--against", arguments->against, "Evidence, or a run's directory, to compare with")
        ->type_name("PLACE");
    command->add_option("--runner", arguments->runner, "Where to play a plan; a token says it itself [sim]")
        ->type_name("NAME");
    add_catalog(*command, arguments->catalog);
    add_json(*command, arguments->json, "A JSON object");
    command->callback([arguments, &session] { replay(*arguments, session); });
}

}  // namespace deadrank::runners::commands
