// runners/pipeline/run_files.cpp — The files of one trial, and the judgement of those files: of a run, and of
// its control and healed runs.
#include "runners/pipeline/run_files.h"

#include <fmt/format.h>

#include "results/detectors/detector.h"
#include "results/record/text_file.h"
#include "results/record/words.h"
#include "results/reports/json_files.h"
#include "results/reports/terminal.h"
#include "runners/pipeline/play_trial.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners {

// ── Writes a played run, the plan first, since the plan alone can reproduce the rest.

namespace {

scenarios::Result<void> make_directory(const std::filesystem::path& path) {
    std::error_code error;
    std::filesystem::create_directories(path, error);
    if (!error) return {};
    return scenarios::refuse(scenarios::ErrorCode::io,
                             fmt::format("{} cannot be made: {}", path.string(), error.message()),
                             "name another directory with --out");
}

}  // namespace

RunDirectory::RunDirectory(const std::filesystem::path& out, std::string_view scenario, std::uint64_t seed)
    : path_(out / results::relative_path_of(scenario) / std::to_string(seed)) {}

std::filesystem::path RunDirectory::of(scenarios::Variant variant) const {
    return variant == scenarios::Variant::fault ? path_ : path_ / scenarios::variant_name(variant);
}

scenarios::Result<void> RunDirectory::write(const Played& played) const {
    const std::filesystem::path place = of(played.plan.variant);
    return make_directory(place)
        .and_then([&] { return results::write_text(scenarios::to_toml(played.plan), place / "plan.toml"); })
        .and_then([&] { return results::write_evidence(played.record.evidence, place / "evidence.jsonl"); })
        .and_then([&] { return results::write_truth(played.record.truth, place / "truth.json"); })
        .and_then([&] { return results::reports::write_findings(played.findings, place / "findings.json"); });
}

scenarios::Result<void> RunDirectory::write(const results::Case& outcome) const {
    return make_directory(path_).and_then(
        [&] { return results::reports::write_verdict(outcome, path_ / "verdict.json"); });
}

// ── Reads files back into values, and judges those as after a run.

using scenarios::ErrorCode;
using scenarios::Result;
using scenarios::Variant;
namespace fs = std::filesystem;

namespace {

results::Judgement judge_files(const RunFiles& run, const results::Evidence* control) {
    if (run.plan && run.has_truth) return results::judge(*run.plan, run.record, run.findings, control);
    return results::unjudged(
        fmt::format("{}, and no {} to judge against", results::counted(run.findings.size(), "finding"),
                    run.plan ? "truth" : "plan"),
        run.record, run.findings);
}

bool there(const fs::path& file) {
    std::error_code ignored;
    return fs::exists(file, ignored);
}

}  // namespace

Result<std::optional<RunFiles>> read_variant(const Library& library, const fs::path& place, Variant variant) {
    const fs::path below = place / scenarios::variant_name(variant);
    if (!there(below / "evidence.jsonl")) return std::optional<RunFiles>();
    auto run = read_run(library, below);
    if (!run) return tl::unexpected(run.error());
    return std::optional<RunFiles>(std::move(*run));
}

Result<RunFiles> read_run(const Library& library, const fs::path& place) {
    std::error_code ignored;
    const bool directory = fs::is_directory(place, ignored);
    auto evidence = results::read_evidence(directory ? place / "evidence.jsonl" : place);
    if (!evidence) return tl::unexpected(evidence.error());
    RunFiles run;
    run.record.evidence = std::move(*evidence);
    run.findings = results::detect(run.record.evidence, library.detectors());
    if (directory && there(place / "plan.toml")) {
        auto plan = scenarios::load_plan(place / "plan.toml", library.taxonomy, library.vocabulary);
        if (!plan) return tl::unexpected(plan.error());
        run.plan = std::move(*plan);
    }
    if (directory && there(place / "truth.json")) {
        auto truth = results::read_truth(place / "truth.json");
        if (!truth) return tl::unexpected(truth.error());
        run.record.truth = std::move(*truth);
        run.has_truth = true;
    }
    return run;
}

std::vector<std::string> gaps_of(const results::Evidence& evidence) {
    std::vector<std::string> gaps = evidence.notes();
    for (std::string& lost : results::lost_evidence(evidence)) gaps.push_back(std::move(lost));
    return gaps;
}

Result<JudgedRun> judge_directory(const Library& library, const fs::path& place) {
    auto run = read_run(library, place);
    if (!run) return tl::unexpected(run.error());
    auto control = read_variant(library, place, Variant::control);
    if (!control) return tl::unexpected(control.error());
    auto healed = read_variant(library, place, Variant::healed);
    if (!healed) return tl::unexpected(healed.error());
    JudgedRun judged;
    results::Case& one = judged.outcome;
    one.scenario = place.string();
    one.runner = results::reports::from_files;
    if (run->plan) {
        one.scenario = run->plan->scenario;
        one.seed = run->plan->seed.number;
        one.bug = run->plan->bug;
        one.expect = run->plan->expect;
        if (run->plan->variant == Variant::fault && !*control) one.notes.emplace_back(no_control_note);
    }
    one.fault = judge_files(*run, *control ? &(*control)->record.evidence : nullptr);
    if (*control) one.control = judge_files(**control, nullptr);
    if (*healed) one.healed = judge_files(**healed, nullptr);
    if (*healed && (*healed)->plan && run->has_truth && one.fault->verdict != results::Verdict::unknown)
        results::compare_with_fault_run(*one.healed, *(*healed)->plan, run->record, run->findings);
    if (*healed && *control)
        results::compare_with_control(*one.healed, (*healed)->record.evidence, (*control)->record.evidence);
    one.directory = place;
    one.conclude();
    for (std::string& note : gaps_of(run->record.evidence)) one.notes.push_back(std::move(note));
    judged.fault = std::move(*run);
    judged.control = std::move(*control);
    judged.healed = std::move(*healed);
    return judged;
}

}  // namespace deadrank::runners
