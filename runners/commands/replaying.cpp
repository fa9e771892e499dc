// runners/commands/replaying.cpp — A hash tells that two runs differ; only evidence tells where. So a plan is
// played twice if need be.
#include "runners/commands/replaying.h"

#include <array>
#include <fmt/format.h>

#include "runners/backends/catalog/backend.h"
#include "runners/commands/selection.h"
#include "runners/line/build.h"
#include "runners/line/compare.h"
#include "runners/line/judge_files.h"
#include "runners/line/line.h"
#include "runners/line/token.h"
#include "scenarios/format/resolve.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners::commands {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;
using scenarios::Variant;
namespace fs = std::filesystem;

namespace {

std::string changed(std::string_view what, std::string_view then, std::string_view now) {
    return fmt::format("{} has changed since: {} then, {} now", what, then, now);
}

Result<results::Evidence> evidence_of_then(const fs::path& place) {
    std::error_code ignored;
    return results::read_evidence(fs::is_directory(place, ignored) ? place / "evidence.jsonl" : place);
}

void settle(Replayed& replayed, Replayed::Outcome outcome, std::string says) {
    replayed.outcome = outcome;
    replayed.says = std::move(says);
}

// With the evidence of then.
Result<void> compare_with_evidence(Replayed& replayed, const Wanted& wanted, const Played& now) {
    auto then = evidence_of_then(wanted.against);
    if (!then) return tl::unexpected(then.error());
    replayed.difference = first_difference(*then, now.record.evidence);
    if (replayed.difference.empty()) {
        settle(replayed, Replayed::reproduced, "reproduced: every event is the one of then");
    } else {
        settle(replayed, Replayed::differs, "it is not the run of then");
    }
    return {};
}

// Without: is this build one with itself, at least?
void compare_with_itself(Replayed& replayed, const Wanted& wanted, const Played& first,
                         const Played& second) {
    replayed.difference = first_difference(first.record.evidence, second.record.evidence);
    if (!replayed.difference.empty() || first.record.trace_hash != second.record.trace_hash) {
        settle(replayed, Replayed::differs, "one plan, played twice by this build, gave two runs");
    } else if (wanted.trace_hash == 0) {
        settle(replayed, Replayed::reproduced, "reproduced: played twice, the same run");
    } else if (!wanted.changes.empty()) {
        settle(replayed, Replayed::untold, "the token's run cannot be asked of what has changed since");
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

Result<results::Judgement> judge_again(const Wanted& wanted, Runner& runner, const LineOptions& options,
                                       const Played& played) {
    if (!wanted.control) return results::judge(played.plan, played.record, played.findings);
    const auto control = play_plan(*wanted.control, runner, options);
    if (!control) return tl::unexpected(control.error());
    return results::judge(played.plan, played.record, played.findings, &control->record.evidence);
}

}  // namespace

std::string_view name_of(Replayed::Outcome outcome) {
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
    LineOptions options;
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
    if (wanted.runner != "sim") {
        settle(replayed, Replayed::untold,
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

}  // namespace deadrank::runners::commands
