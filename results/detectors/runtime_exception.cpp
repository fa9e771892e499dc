// results/detectors/runtime_exception.cpp — What is left when no more specific word was found in the
// exception.
#include "results/detectors/runtime_exception.h"

#include "results/facts/outbreaks.h"

namespace deadrank::results::detectors {

std::vector<Finding> RuntimeException::examine(const Evidence& evidence) const {
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : outbreaks(evidence, Trouble::exception)) {
        findings.push_back(finding_of(evidence, outbreak, "framework_runtime_exception", name(),
                                      {"numeric_edge_case_error", "dependency_or_hardware_mismatch"}));
    }
    return findings;
}

}  // namespace deadrank::results::detectors
