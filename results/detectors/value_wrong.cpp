// results/detectors/value_wrong.cpp — The job states its definition beside the value; the first step at which
// they part is named.
#include "results/detectors/value_wrong.h"

#include "results/facts/wrong_value_finding.h"

namespace deadrank::results::detectors {

std::vector<Finding> ValueWrong::examine(const Evidence& evidence) const {
    auto finding = first_wrong(evidence, Origin::definition);
    if (!finding) return {};
    finding->symptom = "wrong_intermediate_value";
    finding->detector = name();
    finding->causes = {"stale_or_missing_state_update", "gradient_scaling_or_reduction_error",
                       "stream_or_buffer_race"};
    return {*finding};
}

}  // namespace deadrank::results::detectors
