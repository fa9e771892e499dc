// results/detectors/runtime_exception.cpp — A framework raised an exception in which no more specific phrase
// was found.
#include "results/detectors/detector.h"
#include "results/facts/complaints.h"

namespace deadrank::results::detectors {

Findings runtime_exception(const Evidence& evidence) {
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : outbreaks(evidence, Trouble::exception)) {
        findings.push_back(finding_of(evidence, outbreak, "framework_runtime_exception",
                                      {"numeric_edge_case_error", "dependency_or_hardware_mismatch"}));
    }
    return findings;
}

extern const DetectorRow runtime_exception_row{
    .name = "runtime_exception", .reports = {"framework_runtime_exception"}, .examine = runtime_exception};

}  // namespace deadrank::results::detectors
