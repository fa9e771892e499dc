// runners/commands/play/replay_command.cpp — deadrank replay: plays a token or a plan again and compares the
// runs, event by event. The same plan must give the same run; otherwise, names the first event that differs.
#include <CLI/CLI.hpp>
#include <array>
#include <atomic>
#include <cstdint>
#include <filesystem>
#include <fmt/format.h>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/judging/judge.h"
#include "runners/backends/catalog/backend.h"
#include "runners/commands/command.h"
#include "runners/commands/otlp_output.h"
#include "runners/commands/screen.h"
#include "runners/commands/selection.h"
#include "runners/commands/trust.h"
#include "runners/commands/under_test.h"
#include "runners/pipeline/build.h"
#include "runners/pipeline/excerpt.h"
#include "runners/pipeline/library.h"
#include "runners/pipeline/play_trial.h"
#include "runners/pipeline/run_files.h"
#include "runners/pipeline/token.h"
#include "scenarios/format/plan_file.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::commands {

// ── From a token or a plan to its run, played again and compared.

struct Wanted {
    scenarios::Plan plan;
    std::optional<scenarios::Plan> control;  // played as well, so that the verdict is that of `run`
    std::string runner;
    std::string file;                        // the plan's, or the token's scenario's
    bool shipped = false;                    // that file came with the program
    bool explore_order = false;
    std::uint64_t trace_hash = 0;      // 0 = unknown
    std::filesystem::path against;     // the earlier run's evidence; empty = none
    std::vector<std::string> changes;  // what has changed since: then hashes cannot be compared
    std::string build;                 // the earlier run's commit
};

// `file`: the token's scenario if it is in no catalog; empty = found by its id. Errors: usage (no
// token, no such scenario), bad_input (the plan's file).
scenarios::Result<Wanted> wanted_by_token(const Library& library, const std::string& text,
                                          const std::string& file = {});
scenarios::Result<Wanted> wanted_by_plan(const Library& library, const std::filesystem::path& file,
                                         const std::string& runner);

struct Replayed {
    enum Answer { reproduced, differs, inconclusive };
    Answer outcome = inconclusive;
    std::string says;
    std::string difference;  // the first event that differs; empty when there is none or it cannot be known
    std::uint64_t trace_hash = 0;
    std::uint64_t events = 0;
    std::string token;
    results::Judgement judgement;
    std::vector<std::string> notes;
    std::optional<Played> played;  // set once the plan was played
};
std::string_view name_of(Replayed::Answer outcome);

scenarios::Result<Replayed> play_again(const Library& library, const Wanted& wanted, std::atomic<bool>& stop);

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;
using scenarios::Variant;
namespace fs = std::filesystem;

namespace {

std::string changed(std::string_view what, std::string_view then, std::string_view now) {
    return fmt::format("{} has changed since: {} then, {} now", what, then, now);
}

Result<results::Evidence> read_recorded_evidence(const fs::path& place) {
    std::error_code ignored;
    return results::read_evidence(fs::is_directory(place, ignored) ? place / "evidence.jsonl" : place);
}

void settle(Replayed& replayed, Replayed::Answer outcome, std::string says) {
    replayed.outcome = outcome;
    replayed.says = std::move(says);
}

// Compares with the earlier run's evidence.
Result<void> compare_with_evidence(Replayed& replayed, const Wanted& wanted, const Played& now) {
    auto then = read_recorded_evidence(wanted.against);
    if (!then) return tl::unexpected(then.error());
    replayed.difference = first_difference(*then, now.record.evidence);
    if (replayed.difference.empty()) {
        settle(replayed, Replayed::reproduced, "reproduced: every event is the one of then");
    } else {
        settle(replayed, Replayed::differs, "it is not the run of then");
    }
    return {};
}

// Without earlier evidence: does this build at least reproduce its own run?
void compare_with_itself(Replayed& replayed, const Wanted& wanted, const Played& first,
                         const Played& second) {
    replayed.difference = first_difference(first.record.evidence, second.record.evidence);
    if (!replayed.difference.empty() || first.record.trace_hash != second.record.trace_hash) {
        settle(replayed, Replayed::differs, "one plan, played twice by this build, gave two runs");
    } else if (wanted.trace_hash == 0) {
        settle(replayed, Replayed::reproduced, "reproduced: played twice, the same run");
    } else if (!wanted.changes.empty()) {
        settle(replayed, Replayed::inconclusive, "the token's run cannot be asked of what has changed since");
    } else {
        settle(
            replayed, Replayed::differs,
            fmt::format(
                "another run: the trace hash was {:016x}; this build gives the same run twice, so the builds "
                "differ ({} then, {} now)",
                wanted.trace_hash, wanted.build, this_build().commit));
        replayed.notes.push_back("--against with the evidence of then names the first event that differs");
    }
}

Result<results::Judgement> judge_again(const Wanted& wanted, Runner& runner, const PipelineOptions& options,
                                       const Played& played) {
    if (!wanted.control) return results::judge(played.plan, played.record, played.findings);
    const auto control = play_plan(*wanted.control, runner, options);
    if (!control) return tl::unexpected(control.error());
    return results::judge(played.plan, played.record, played.findings, &control->record.evidence);
}

}  // namespace

std::string_view name_of(Replayed::Answer outcome) {
    static constexpr std::array<std::string_view, 3> names = {"reproduced", "differs", "unknown"};
    return names.at(static_cast<std::size_t>(outcome));
}

Result<Wanted> wanted_by_token(const Library& library, const std::string& text, const std::string& file) {
    auto token = parse_token(text);
    if (!token) return tl::unexpected(token.error());
    SelectionOptions options;
    options.names = {file.empty() ? token->scenario : file};
    auto selection = select(library, options);
    if (!selection && file.empty()) {
        return refuse(ErrorCode::usage,
                      fmt::format("the catalog has no scenario '{}' for this token", token->scenario),
                      "name its file with --scenario FILE");
    }
    if (!selection) return tl::unexpected(selection.error());
    if (selection->scenarios.empty()) return tl::unexpected(selection->broken.front());
    auto runner = make_runner(token->runner, *library.extension);
    if (!runner) return tl::unexpected(runner.error());
    const scenarios::Scenario& scenario = selection->scenarios.front();
    auto trial = scenarios::resolve(scenario, scenarios::Seed{token->seed}, (*runner)->capabilities(),
                                    library.vocabulary);
    if (!trial) return tl::unexpected(trial.error());
    Wanted wanted{.plan = trial->fault,
                  .control = trial->control,
                  .runner = token->runner,
                  .file = scenario.file.string(),
                  .shipped = is_shipped(library, scenario.file),
                  .explore_order = token->explored,
                  .trace_hash = token->trace_hash,
                  .build = token->build};
    const Token now = token_of(wanted.plan, token->runner, token->explored, 0);
    if (now.scenario_digest != token->scenario_digest) {
        wanted.changes.push_back(changed("the scenario's file", token->scenario_digest, now.scenario_digest));
    }
    if (now.plan_digest != token->plan_digest) {
        wanted.changes.push_back(changed("the plan", token->plan_digest, now.plan_digest));
    }
    return wanted;
}

Result<Wanted> wanted_by_plan(const Library& library, const fs::path& file, const std::string& runner) {
    auto plan = scenarios::load_plan(file, library.taxonomy, library.vocabulary);
    if (!plan) return tl::unexpected(plan.error());
    Wanted wanted;
    wanted.plan = std::move(*plan);
    wanted.runner = runner;
    wanted.file = file.string();
    std::error_code ignored;
    if (const fs::path beside = file.parent_path() / "evidence.jsonl"; fs::exists(beside, ignored)) {
        wanted.against = beside;
    }
    const fs::path control = file.parent_path() / scenarios::variant_name(Variant::control) / "plan.toml";
    if (wanted.plan.variant == Variant::fault && fs::exists(control, ignored)) {
        auto without = scenarios::load_plan(control, library.taxonomy, library.vocabulary);
        if (!without) return tl::unexpected(without.error());
        wanted.control = std::move(*without);
    }
    return wanted;
}

Result<Replayed> play_again(const Library& library, const Wanted& wanted, std::atomic<bool>& stop) {
    auto runner = make_runner(wanted.runner, *library.extension);
    if (!runner) return tl::unexpected(runner.error());
    const results::Detectors detectors = library.detectors();
    PipelineOptions options;
    options.explore_order = wanted.explore_order;
    options.detectors = &detectors;
    options.stop = &stop;
    auto played = play_plan(wanted.plan, **runner, options);
    if (!played) return tl::unexpected(played.error());
    Replayed replayed;
    replayed.trace_hash = played->record.trace_hash;
    replayed.events = played->record.events;
    if (auto judged = judge_again(wanted, **runner, options, *played); judged) {
        replayed.judgement = std::move(*judged);
    } else {
        return tl::unexpected(judged.error());
    }
    replayed.token =
        to_text(token_of(played->plan, wanted.runner, wanted.explore_order, replayed.trace_hash));
    replayed.notes = wanted.changes;
    if (played->plan.variant == Variant::fault && !wanted.control)
        replayed.notes.emplace_back(no_control_note);
    if (wanted.runner != scenarios::BackendId::sim) {
        settle(replayed, Replayed::inconclusive,
               "played again; real processes are never twice the same run, event by event");
    } else if (wanted.trace_hash != 0 && wanted.trace_hash == replayed.trace_hash) {
        settle(replayed, Replayed::reproduced, "reproduced: the same trace hash");
    } else if (!wanted.against.empty()) {
        if (auto compared = compare_with_evidence(replayed, wanted, *played); !compared) {
            return tl::unexpected(compared.error());
        }
    } else {
        auto again = play_plan(wanted.plan, **runner, options);
        if (!again) return tl::unexpected(again.error());
        compare_with_itself(replayed, wanted, *played, *again);
    }
    replayed.played = std::move(*played);
    return replayed;
}

namespace {

using results::reports::Ink;

struct ReplayArguments {
    std::string what, scenario, against, catalog, html, otlp, runner = "sim";
    bool json = false, trust = false;
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
    print_out("{}\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace));
}

void print_replay_text(const Replayed& replayed) {
    const auto style = style_of(stdout);
    const auto row = [&](std::string_view label, const std::string& text, Ink ink = Ink::plain) {
        if (text.empty()) return;
        print_out("  {}{}\n", style.paint(Ink::dim, results::reports::pad_right(label, 12)),
                  style.paint(ink, text));
    };
    const bool good = replayed.outcome == Replayed::reproduced;
    print_out("{} {}\n", style.paint(good ? Ink::green : Ink::yellow, good ? "✔" : "✘"),
              style.paint(Ink::bold, replayed.says));
    row("first", replayed.difference, Ink::red);
    row("hash", fmt::format("{:016x} over {} events", replayed.trace_hash, replayed.events));
    row("verdict", fmt::format("{}: {}", name_of(replayed.judgement.verdict), replayed.judgement.reason));
    row("token", replayed.token, Ink::cyan);
    for (const std::string& note : replayed.notes) row("note", note, Ink::dim);
}

// The run as a page, with nothing beside it: a token or a plan is one run.
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
    if (wanted->runner != scenarios::BackendId::sim && !wanted->shipped && !arguments.trust) {
        std::vector<std::string> settings = list_code_settings(wanted->plan);
        if (wanted->control && settings.empty()) settings = list_code_settings(*wanted->control);
        if (auto trusted = refuse_code(wanted->file, settings); !trusted)
            return session.complain(trusted.error());
    }
    if (!arguments.against.empty()) wanted->against = arguments.against;
    auto traces = OtlpOutput::open(arguments.otlp);
    if (!session.take(traces)) return;
    auto replayed = play_again(*library, *wanted, stop_on_interrupt());
    if (!session.take(replayed)) return;
    arguments.json ? print_replay_json(*replayed) : print_replay_text(*replayed);
    session.code = replay_code(*replayed);
    if (*traces) {
        results::reports::TracedRun run;
        run.name = replayed->played->plan.scenario;
        run.variant = scenarios::variant_name(replayed->played->plan.variant);
        run.runner = wanted->runner;
        run.verdict = name_of(replayed->judgement.verdict);
        run.reason = replayed->judgement.reason;
        (*traces)->take(0, (*traces)->spans_of(std::move(run), *replayed->played));
        if (auto written = (*traces)->finish(); !written) session.complain(written.error());
    }
    if (arguments.html.empty()) return;
    if (auto written = write_replay_page(*replayed, *wanted, *library, arguments.html); !written)
        session.complain(written.error());
}

void add_replay(CLI::App& command, Session& session) {
    command.footer(
        "A token (dr1-…, from any report) is played from the catalog and compared by its trace hash. A plan "
        "is compared with the evidence beside it. Without evidence it is played twice.\n\n"
        "Exit code: 0 reproduced, 1 another run, 2 unknown.\n\n"
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
    add_otlp(command, arguments->otlp);
    command.add_option("--against", arguments->against, "Evidence, or a run's directory, to compare with")
        ->type_name("PLACE");
    command.add_option("--runner", arguments->runner, "Where to play a plan; a token has its own [sim]")
        ->type_name("NAME");
    add_catalog(command, arguments->catalog);
    add_trust(command, arguments->trust);
    add_json(command, arguments->json, "A JSON object");
    command.callback([arguments, &session] { replay(*arguments, session); });
}

}  // namespace

extern const CommandRow replay_row{"replay", "Plays a token or a plan again",
                                   add_replay};

}  // namespace deadrank::runners::commands
