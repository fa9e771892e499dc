// runners/releases/twins.cpp — Both play their faulty run once.
#include "runners/releases/twins.h"

#include <fmt/format.h>

namespace deadrank::runners::releases {

namespace {

// What was said of the faulty run; nothing, and why, where it was not played.
std::optional<std::set<std::string>> symptoms_said(const scenarios::Scenario& scenario, Runner& runner,
                                                   const Library& library, const LineOptions& options,
                                                   std::string& why) {
    const Trialled trial = play(scenario, {1}, runner, library.vocabulary, options);
    if (!trial.fault) {
        why = trial.outcome.fault ? trial.outcome.fault->reason : trial.outcome.reason;
        return std::nullopt;
    }
    std::set<std::string> symptoms;
    for (const results::Finding& finding : trial.fault->findings) symptoms.insert(finding.symptom);
    return symptoms;
}

}  // namespace

Compared compare_twins(const Library& library, const ReleaseBug& bug, Runner& sim, Runner& reality,
                       const LineOptions& options) {
    Compared compared{.scenario = bug.scenario.id};
    compared.played_on = bug.release.twin;
    LineOptions fault_alone = options;
    fault_alone.control = fault_alone.healed = false;
    const auto twin = load_scenario(library, library.catalog / (bug.release.twin + ".toml"));
    if (!twin) {
        compared.why = twin.error().text();
        return compared;
    }
    const auto simulated = symptoms_said(*twin, sim, library, fault_alone, compared.why);
    const auto real = symptoms_said(bug.scenario, reality, library, fault_alone, compared.why);
    if (!simulated || !real) return compared;
    compared.simulated = *simulated;
    compared.real = *real;
    conclude(compared, "");
    return compared;
}

}  // namespace deadrank::runners::releases
