// runners/find/alike.cpp — Only the signature's own property is asked while shrinking.
#include "runners/find/alike.h"

#include <algorithm>
#include <fmt/format.h>

#include "scenarios/format/resolve.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/model/error.h"

namespace deadrank::runners::find {

using scenarios::Plan;
using scenarios::Result;

namespace {

bool reports(const Sight& sight, const std::string& symptom) {
    const auto& findings = sight.fault.findings;
    return std::any_of(findings.begin(), findings.end(),
                       [&](const results::Finding& finding) { return finding.symptom == symptom; });
}

bool same_deed(const Plan& a, const Plan& b) {
    return a.cluster == b.cluster && a.workload_kind == b.workload_kind && a.workload == b.workload &&
           a.faults == b.faults;
}

}  // namespace

Result<Signatures> signatures_of(Bench& bench, const Plan& plan,
                                 const std::vector<const Property*>& properties) {
    const auto sight = bench.look(plan);
    if (!sight) return tl::unexpected(sight.error());
    return broken(*sight, properties);
}

Fails fails_alike(Bench& bench, const Signature& signature) {
    if (signature.property == symptom_is_reported) {
        return [&bench, signature](const Plan& plan) {
            const auto sight = bench.look(plan);
            return sight && reports(*sight, signature.how);
        };
    }
    const Property* property = find_property(signature.property);
    CHECK(property != nullptr);
    return [&bench, property, signature](const Plan& plan) {
        const auto seen = signatures_of(bench, plan, {property});
        return seen && std::any_of(seen->begin(), seen->end(),
                                   [&](const Signature& one) { return fits(signature, one); });
    };
}

std::optional<std::string> trouble_as_file(const std::string& text, const std::string& id, const Plan& plan,
                                           Bench& bench, const Signature& signature,
                                           const scenarios::Taxonomy& taxonomy,
                                           const scenarios::Vocabulary& words) {
    const auto scenario = scenarios::parse_scenario(text, id + ".toml", taxonomy, words);
    if (!scenario) return "it does not load: " + scenario.error().text();
    const auto trial = scenarios::resolve(*scenario, plan.seed, {.levers = {"*"}, .workloads = {"*"}}, words);
    if (!trial) return "it cannot be resolved: " + trial.error().text();
    if (!same_deed(trial->fault, plan)) return "it resolves to another plan";
    if (!fails_alike(bench, signature)(trial->fault)) return "it does not fail alike";
    return std::nullopt;
}

}  // namespace deadrank::runners::find
