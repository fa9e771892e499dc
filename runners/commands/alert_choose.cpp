// runners/commands/alert_choose.cpp — From what was typed to incidents. Scenarios of the catalogue are played
// in the simulator at their own size; what became of the job is then shown on the judged cluster.
#include <algorithm>
#include <fmt/format.h>

#include "runners/backends/sim/runner.h"
#include "runners/commands/alert_site.h"
#include "runners/commands/selection.h"
#include "runners/studies/scenario_incident.h"
#include "scenarios/model/vocabulary.h"
#include "scenarios/format/resolve.h"

namespace deadrank::runners::alerts {

namespace {

using results::exporters::Incident;
using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

// Signatures by id or pattern; false when none fits.
bool add_signatures(const Site& site, const std::string& pattern, std::vector<Incident>& incidents) {
    bool any = false;
    for (const auto& signature : site.signatures.signatures) {
        if (signature.internal) continue;
        if (pattern != "all" && !commands::matches_pattern(pattern, signature.id)) continue;
        any = true;
        const bool there = std::any_of(incidents.begin(), incidents.end(),
                                       [&](const Incident& one) { return one.id == signature.id; });
        if (there) continue;
        incidents.push_back(results::exporters::incident_of(
            signature, site.signatures, {usual_target(site.world.cluster, signature.scope)},
            site.world.window));
    }
    return any;
}

Result<void> add_scenario(const Site& site, const Library& library, const scenarios::Scenario& scenario,
                          std::uint64_t seed, std::vector<Incident>& incidents,
                          std::vector<std::string>& notes) {
    SimRunner runner;
    auto trial = scenarios::resolve(scenario, {seed}, runner.capabilities(), library.vocabulary);
    if (!trial) return tl::unexpected(trial.error());
    auto record = runner.run(trial->fault, {});
    if (!record) return tl::unexpected(record.error());
    Incident incident =
        incident_of(trial->fault, *record, site.signatures, site.world.cluster, site.world.window);
    if (incident.effects.empty()) {
        notes.push_back(scenario.id + " shows nothing that an exporter could see; it is left out");
    } else {
        incidents.push_back(std::move(incident));
    }
    return {};
}

}  // namespace

Result<std::vector<Incident>> choose_incidents(const Site& site, const Library& library,
                                               const SiteOptions& options, std::vector<std::string>& notes) {
    std::vector<Incident> incidents;
    commands::SelectionOptions rest{.catalog = options.catalog};
    bool catalog = false;
    for (const std::string& name : options.scenarios) {
        if (name == "catalog")
            catalog = true;
        else if (!add_signatures(site, name, incidents))
            rest.names.push_back(name);
    }
    if (options.scenarios.empty()) add_signatures(site, "all", incidents);
    if (!catalog && rest.names.empty()) return incidents;
    if (catalog) rest.names.clear();
    auto selection = commands::select(library, rest);
    if (!selection) {
        scenarios::Error error = selection.error();
        const std::string near =
            scenarios::nearest(rest.names.empty() ? "" : rest.names[0], site.signatures.ids());
        if (!near.empty()) error.remedy = "did you mean the failure '" + near + "'?";
        return tl::unexpected(error);
    }
    for (const scenarios::Scenario& scenario : selection->scenarios) {
        if (auto added = add_scenario(site, library, scenario, options.seed, incidents, notes); !added) {
            notes.push_back(scenario.id + " could not be played: " + added.error().text());
        }
    }
    if (incidents.empty()) {
        return refuse(ErrorCode::usage, "none of these scenarios shows anything to an exporter",
                      "deadrank alerts --list names failures that do");
    }
    return incidents;
}

}  // namespace deadrank::runners::alerts
