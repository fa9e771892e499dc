// tests/runners/backends/ranks/seen.h — What a job computed and what was noticed in it, to be compared.
#pragma once

#include <fmt/format.h>
#include <set>
#include <string>

#include "results/detectors/detector.h"
#include "runners/backend/runner.h"

namespace deadrank::testing_ranks {

// What a job computed: losses, digests of its parameters, what a server answered.
inline std::set<std::string> computed(const runners::Record& record) {
    std::set<std::string> lines;
    for (const results::Event* event : record.evidence.each<results::StepEnd>()) {
        const auto* said = event->as<results::StepEnd>();
        lines.insert(fmt::format("rank {} step {}: loss {}, {}", event->rank, said->step, said->loss,
                                 said->gradient_norm));
    }
    for (const results::Event* event : record.evidence.each<results::ParametersDigest>()) {
        const auto* said = event->as<results::ParametersDigest>();
        lines.insert(fmt::format("rank {} step {}: parameters {:x}", event->rank, said->step, said->digest));
    }
    for (const results::Event* event : record.evidence.each<results::ServeOutput>()) {
        const auto* said = event->as<results::ServeOutput>();
        lines.insert(fmt::format("rank {} request {}: {:x}", event->rank, said->request, said->digest));
    }
    return lines;
}

inline std::set<std::string> symptoms(const runners::Record& record) {
    std::set<std::string> said;
    for (const auto& finding : results::detect(record.evidence, results::all_detectors()))
        said.insert(finding.symptom);
    return said;
}

}  // namespace deadrank::testing_ranks
