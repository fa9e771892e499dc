// runners/line/judge_files.cpp — Files back to values, and from there the line as it always goes.
#include "runners/line/judge_files.h"

#include <fmt/format.h>

#include "results/detectors/detect.h"
#include "results/reports/terminal.h"
#include "results/text/words.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners {

using scenarios::ErrorCode;
using scenarios::Result;
using scenarios::Variant;
namespace fs = std::filesystem;

namespace {

results::Judgement unjudged(const Heard& heard, std::string reason) {
    results::Judgement judgement;
    judgement.outcome = results::Outcome::unjudged;
    judgement.reaction = results::reaction_of(heard.evidence);
    judgement.findings = heard.findings;
    judgement.reason = std::move(reason);
    return judgement;
}

results::Judgement judge_heard(const Heard& heard, const results::Evidence* control) {
    if (heard.plan && heard.truth) {
        return judge_variant(*heard.plan, *heard.truth, heard.evidence, heard.findings, control);
    }
    return unjudged(heard, fmt::format("{}, and no {} to judge against",
                                       results::counted(heard.findings.size(), "finding"),
                                       heard.plan ? "truth" : "plan"));
}

bool there(const fs::path& file) {
    std::error_code ignored;
    return fs::exists(file, ignored);
}

// A variant's own directory below the run's; nothing when it was not played.
Result<std::optional<Heard>> read_variant(const Library& library, const fs::path& place, Variant variant) {
    const fs::path below = place / scenarios::variant_name(variant);
    if (!there(below / "evidence.jsonl")) return std::optional<Heard>();
    auto heard = read_run(library, below);
    if (!heard) return tl::unexpected(heard.error());
    return std::optional<Heard>(std::move(*heard));
}

}  // namespace

Result<Heard> read_run(const Library& library, const fs::path& place) {
    std::error_code ignored;
    const bool directory = fs::is_directory(place, ignored);
    auto evidence = results::read_evidence(directory ? place / "evidence.jsonl" : place);
    if (!evidence) return tl::unexpected(evidence.error());
    Heard heard;
    heard.evidence = std::move(*evidence);
    heard.findings = results::detect(heard.evidence, library.detectors());
    if (directory && there(place / "plan.toml")) {
        auto plan = scenarios::load_plan(place / "plan.toml", library.taxonomy, library.vocabulary);
        if (!plan) return tl::unexpected(plan.error());
        heard.plan = std::move(*plan);
    }
    if (directory && there(place / "truth.json")) {
        auto truth = results::read_truth(place / "truth.json");
        if (!truth) return tl::unexpected(truth.error());
        heard.truth = std::move(*truth);
    }
    return heard;
}

results::Judgement judge_variant(const scenarios::Plan& plan, const results::Truth& truth,
                                 const results::Evidence& evidence,
                                 const std::vector<results::Finding>& findings,
                                 const results::Evidence* control) {
    switch (plan.variant) {
        case Variant::control:
            return results::judge_quiet(truth, evidence, findings);
        case Variant::healed:
            return results::judge_healed(plan.expect, truth, evidence, findings);
        default:
            return results::judge(plan.expect, truth, evidence, findings, control);
    }
}

Result<JudgedRun> judge_directory(const Library& library, const fs::path& place) {
    auto heard = read_run(library, place);
    if (!heard) return tl::unexpected(heard.error());
    auto control = read_variant(library, place, Variant::control);
    if (!control) return tl::unexpected(control.error());
    auto healed = read_variant(library, place, Variant::healed);
    if (!healed) return tl::unexpected(healed.error());
    JudgedRun judged;
    results::Case& one = judged.outcome;
    one.scenario = place.string();
    one.runner = results::reports::from_files;
    if (heard->plan) {
        one.scenario = heard->plan->scenario;
        one.seed = heard->plan->seed.number;
        one.bug = heard->plan->bug;
        one.expect = heard->plan->expect;
    }
    one.fault = judge_heard(*heard, *control ? &(*control)->evidence : nullptr);
    if (*control) one.control = judge_heard(**control, nullptr);
    if (*healed) one.healed = judge_heard(**healed, nullptr);
    one.directory = place;
    one.conclude();
    judged.fault = std::move(*heard);
    judged.control = std::move(*control);
    judged.healed = std::move(*healed);
    return judged;
}

}  // namespace deadrank::runners
