// runners/find/harm.cpp — Tries a plan: plays it beside its control, and reports whether the fault did harm.
#include "runners/find/harm.h"

#include <algorithm>
#include <array>
#include <fmt/format.h>

#include "results/judging/reaction.h"
#include "runners/find/knob.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners::find {

// ── Only defaults, and the taxonomy's own pairs.

using scenarios::Plan;
using scenarios::SymptomCausePair;

scenarios::Result<Plan> usual_plan(const std::string& workload, const scenarios::Vocabulary& words) {
    const auto* kind = words.workload(workload);
    if (!kind) {
        std::vector<std::string> known;
        for (const auto& one : words.workloads) known.push_back(one.name);
        const std::string near = scenarios::nearest(workload, known);
        return scenarios::refuse(scenarios::ErrorCode::usage,
                                 fmt::format("there is no workload '{}'", workload),
                                 near.empty() ? fmt::format("the first is {}", known.front())
                                              : fmt::format("did you mean '{}'?", near));
    }
    Plan plan{.scenario = "found/" + workload};
    plan.cluster = defaults(scenarios::cluster_parameters());
    if (!kind->launcher.empty()) {
        plan.cluster["launcher"].text = kind->launcher;
        plan.cluster["restarts_max"].number = 3;  // what comes back may be hit again
    }
    plan.workload_kind = workload;
    plan.workload = defaults(kind->parameters);
    return plan;
}

void give_bug(Plan& plan, const std::string& symptom, const scenarios::BlameFields& blames,
              const scenarios::Taxonomy& taxonomy) {
    plan.bug = {.symptom = symptom};
    plan.expect = {.symptom = symptom, .blames = blames};
    if (const auto* entry = scenarios::find(taxonomy.symptoms, symptom); entry && !entry->stages.empty())
        plan.bug.stage = entry->stages.front();
    const SymptomCausePair* most = nullptr;
    for (const SymptomCausePair& pair : taxonomy.pairs) {
        if (pair.symptom == symptom && (!most || pair.reports > most->reports)) most = &pair;
    }
    plan.bug.cause = most ? most->cause : taxonomy.causes.front().id;
    plan.bug.fix = most && !most->fixes.empty() ? most->fixes.front() : taxonomy.fixes.front().id;
}

// ── The job's own reaction, and how much longer it took.

namespace {

constexpr std::array<std::string_view, 6> harm_names = {"none",   "slower",    "wrong_result",
                                                        "failed", "restarted", "hung"};
constexpr std::array<std::string_view, 6> texts = {
    "the job took no harm", "the job took longer",   "the job ended with another result",
    "the job failed",       "the job was restarted", "the job hung"};

bool took_longer(const Record& fault, const Record& control) {
    return fault.ended > control.ended + control.ended / 10;
}

}  // namespace

std::string_view name_of(Harm harm) { return harm_names.at(static_cast<std::size_t>(harm)); }
std::string_view text_of(Harm harm) { return texts.at(static_cast<std::size_t>(harm)); }

Harm harm_of(const Record& fault, const Record& control) {
    switch (results::grade(fault, &control.evidence).reaction) {
        case results::Reaction::completed:
        case results::Reaction::warned_and_completed:
            return took_longer(fault, control) ? Harm::slower : Harm::none;
        case results::Reaction::silent_wrong_result:
            return Harm::wrong_result;
        case results::Reaction::restarted:
            return Harm::restarted;
        case results::Reaction::hung:
            return Harm::hung;
        default:
            return Harm::failed;
    }
}

// ── The last control is kept: shrinking removes faults and needs the same control again at once.

using scenarios::Plan;
using scenarios::Result;

Plan control_of(Plan plan) {
    plan.variant = scenarios::Variant::control;
    plan.faults.clear();
    plan.expect = {};
    return plan;
}

bool TrialedPlan::is_job() const {
    const results::Truth& truth = control->record.truth;
    return !truth.ends.empty() && truth.completed();
}

Result<Played> PlanTrials::repeat(const Plan& plan) {
    ++plays_;
    return play_plan(plan, runner_, options_);
}

Result<std::shared_ptr<const Played>> PlanTrials::control_of(const Plan& plan) {
    Plan control = find::control_of(plan);
    if (last_control_ && last_ == control) return last_control_;
    auto played = repeat(control);
    if (!played) return tl::unexpected(played.error());
    last_ = std::move(control);
    last_control_ = std::make_shared<const Played>(std::move(*played));
    return last_control_;
}

Result<TrialedPlan> PlanTrials::try_plan(const Plan& plan) {
    auto control = control_of(plan);
    if (!control) return tl::unexpected(control.error());
    auto played = repeat(plan);
    if (!played) return tl::unexpected(played.error());
    if (stopped()) return scenarios::refuse(scenarios::ErrorCode::internal, "it was stopped");
    TrialedPlan tried{.fault = std::move(*played), .control = *control};
    tried.harm = harm_of(tried.fault.record, tried.control->record);
    tried.ranks_per_node = static_cast<int>(plan.number(plan.cluster, "gpus_per_node"));
    return tried;
}

}  // namespace deadrank::runners::find
