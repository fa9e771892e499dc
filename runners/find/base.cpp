// runners/find/base.cpp — Defaults alone, and the taxonomy's own pairs.
#include "runners/find/base.h"

#include <algorithm>
#include <fmt/format.h>

#include "runners/find/defaults.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners::find {

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
    plan.workload_kind = workload;
    plan.workload = defaults(kind->parameters);
    return plan;
}

void give_bug(Plan& plan, const std::string& symptom, const std::vector<std::string>& blames,
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

}  // namespace deadrank::runners::find
