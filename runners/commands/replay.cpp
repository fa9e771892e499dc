// runners/commands/replay.cpp — deadrank replay: plays a token or a plan again and compares the runs, event
// by event. The same plan must be the same run. Where it is not, the first event that differs is named.
#include <CLI/CLI.hpp>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>

#include "runners/commands/command.h"
#include "runners/commands/interrupt.h"
#include "runners/commands/options.h"
#include "runners/commands/paging.h"
#include "runners/commands/replaying.h"
#include "runners/commands/screen.h"

namespace deadrank::runners::commands {

namespace {

using results::reports::Ink;

struct ReplayArguments {
    std::string what, scenario, against, catalog, html, runner = "sim";
    bool json = false;
};

int replay_code(const Replayed& replayed) {
    switch (replayed.outcome) {
        case Replayed::reproduced:
            return exit_pass;
        case Replayed::differs:
            return exit_fail;
        default:
            return exit_unknown;
    }
}

void print_replay_json(const Replayed& replayed) {
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

void print_replay_text(const Replayed& replayed) {
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

// The run as a page, beside nothing: a token or a plan is one run.
scenarios::Result<void> write_replay_page(Replayed& replayed, const Wanted& wanted, const Library& library,
                                          const std::string& file) {
    Played& played = *replayed.played;
    JudgedRun judged;
    results::Case& one = judged.outcome;
    one.scenario = played.plan.scenario;
    one.runner = wanted.runner;
    one.seed = played.plan.seed.number;
    one.bug = played.plan.bug;
    one.expect = played.plan.expect;
    one.token = replayed.token;
    one.trace_hash = replayed.trace_hash;
    one.notes = replayed.notes;
    one.verdict = replayed.judgement.verdict;
    one.reason = replayed.judgement.reason;
    const auto variant = played.plan.variant;
    auto& judgement = variant == scenarios::Variant::control  ? one.control
                      : variant == scenarios::Variant::healed ? one.healed
                                                              : one.fault;
    auto& run = variant == scenarios::Variant::control  ? judged.control
                : variant == scenarios::Variant::healed ? judged.healed
                                                        : judged.fault;
    judgement = replayed.judgement;
    run = RunFiles{.plan = std::move(played.plan),
                   .has_truth = true,
                   .record = std::move(played.record),
                   .findings = std::move(played.findings)};
    results::reports::Page page;
    add_to_page(page, 0, judged);
    return page.write(file, results::score_by_class({one}, library.taxonomy), "class",
                      "1 run, played again: " + replayed.says);
}

void replay(const ReplayArguments& arguments, Session& session) {
    auto library = open_library(session.executable, session.extension, arguments.catalog);
    if (!session.take(library)) return;
    auto wanted = arguments.what.starts_with("dr1-")
                      ? wanted_by_token(*library, arguments.what, arguments.scenario)
                      : wanted_by_plan(*library, arguments.what, arguments.runner);
    if (!session.take(wanted)) return;
    if (!arguments.against.empty()) wanted->against = arguments.against;
    auto replayed = play_again(*library, *wanted, stop_on_interrupt());
    if (!session.take(replayed)) return;
    arguments.json ? print_replay_json(*replayed) : print_replay_text(*replayed);
    session.code = replay_code(*replayed);
    if (arguments.html.empty()) return;
    if (auto written = write_replay_page(*replayed, *wanted, *library, arguments.html); !written)
        session.complain(written.error());
}

void add_replay(CLI::App& command, Session& session) {
    command.footer(
        "A token (dr1-…, from any report) is played from the catalog and compared by its trace hash. A plan "
        "is compared with "
        "the evidence that lies beside it; without any it is played twice. Exit code 0: reproduced, 1: it "
        "differs, 2: it "
        "cannot be told.\n\n"
        "Examples:\n"
        "  deadrank replay dr1-0a1b2c3d4e5f-sim-communication/rank_leaves_all_reduce-7-…\n"
        "  deadrank replay dr1-… --scenario my_bug.toml            a token of a file outside of the catalog\n"
        "  deadrank replay out/communication/rank_leaves_all_reduce/7/plan.toml --html run.html");
    auto arguments = std::make_shared<ReplayArguments>();
    command.add_option("what", arguments->what, "A token or a plan's file")
        ->required()
        ->type_name("TOKEN|PLAN");
    command.add_option("--scenario", arguments->scenario, "The token's scenario, where it is in no catalog")
        ->type_name("FILE");
    command.add_option("--html", arguments->html, "Write a page that shows this run, as run --html")
        ->type_name("FILE");
    command.add_option("--against", arguments->against, "Evidence, or a run's directory, to compare with")
        ->type_name("PLACE");
    command.add_option("--runner", arguments->runner, "Where to play a plan; a token says it itself [sim]")
        ->type_name("NAME");
    add_catalog(command, arguments->catalog);
    add_json(command, arguments->json, "A JSON object");
    command.callback([arguments, &session] { replay(*arguments, session); });
}

}  // namespace

extern const CommandRow replay_row{"replay", "Plays a token or a plan again and compares the two runs",
                                   add_replay};

}  // namespace deadrank::runners::commands
