// results/exporters/incident.cpp — Expands a signature into effects. Consequences end with the repair of
// their cause.
#include "results/exporters/incident.h"

#include <algorithm>

namespace deadrank::results::exporters {

Incident healthy_run() { return {.id = "healthy", .title = "a healthy run"}; }

void add_effect(Incident& incident, const Signature& signature, const SignatureCatalog& catalog,
                Target target, double at, double until) {
    const auto known = [&](const Effect& one) {
        return one.signature == &signature && one.target == target && one.at <= at;
    };
    // A consequence of two causes, or in a cycle of them, strikes once.
    if (std::any_of(incident.effects.begin(), incident.effects.end(), known)) return;
    incident.effects.push_back({&signature, target, at, until});
    for (const Consequence& consequence : signature.then) {
        const double begin = at + consequence.after;
        const double end = consequence.lasts >= 0 ? begin + consequence.lasts : until;
        const Signature* follows = catalog.find(consequence.signature);
        if (follows != nullptr && begin < end) add_effect(incident, *follows, catalog, target, begin, end);
    }
}

Incident incident_of(const Signature& signature, const SignatureCatalog& catalog, std::vector<Target> targets,
                     const Window& window) {
    Incident incident{.id = signature.id,
                      .title = signature.title,
                      .signature = &signature,
                      .scope = signature.scope,
                      .targets = std::move(targets),
                      .at = window.fault_at,
                      .within = signature.within};
    incident.until = window.repaired(signature.lasts);
    for (const Target& target : incident.targets) {
        add_effect(incident, signature, catalog, target, incident.at, incident.until);
    }
    return incident;
}

Target usual_target(const Cluster& cluster, Scope scope) {
    Target target{.node = cluster.nodes / 2};
    if (scope == Scope::gpu || scope == Scope::port) target.gpu = std::min(3, cluster.gpus_per_node - 1);
    return target;
}

}  // namespace deadrank::results::exporters
