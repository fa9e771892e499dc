// runners/studies/conformance.h — Does a detector's command keep to the protocol of
// results/external/README.md? Not how good it is: that is for the scorecard.
#pragma once

#include <atomic>
#include <string>
#include <vector>

#include "results/external/command_detector.h"
#include "results/record/time.h"

namespace deadrank::runners {

struct ConformanceCheck {
    std::string name;
    bool passed = false;
    std::string says;  // what was seen, in one sentence
};

// Evidence to try it on, from runs of ours.
struct ConformanceMaterial {
    const results::Evidence* healthy = nullptr;
    const results::Evidence* faulty = nullptr;
    std::vector<std::string> symptoms;  // ids of the taxonomy
};

std::vector<ConformanceCheck> check_conformance(const results::external::CommandDetector& detector,
                                                const ConformanceMaterial& material);

}  // namespace deadrank::runners
