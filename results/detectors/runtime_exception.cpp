// results/detectors/runtime_exception.cpp — A framework raised an exception in which no more specific phrase
// was found.
#include <iterator>

#include "results/causes/exception_words.h"
#include "results/detectors/detector.h"
#include "results/facts/complaints.h"

namespace deadrank::results::detectors {

Findings runtime_exception(const Evidence& evidence) {
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : outbreaks(evidence, Trouble::exception)) {
        const Lives& lives = evidence.facts<Lives>();
        const bool everybody = std::ssize(outbreak.ranks) == lives.started(outbreak.attempt);
        findings.push_back(finding_of(evidence, outbreak, "framework_runtime_exception",
                                      causes_of_exception(outbreak.text, everybody)));
    }
    return findings;
}

extern const DetectorRow runtime_exception_row{
    .name = "runtime_exception", .reports = {"framework_runtime_exception"}, .examine = runtime_exception};

}  // namespace deadrank::results::detectors
