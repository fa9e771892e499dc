// results/detectors/value_wrong.cpp — A logged quantity is not what the job's own definition gives. The job
// states its definition beside the value; the first step at which they part is named.
#include "results/detectors/detector.h"
#include "results/facts/findings.h"

namespace deadrank::results::detectors {

Findings value_wrong(const Evidence& evidence) {
    auto finding = first_wrong(evidence, Origin::definition);
    if (!finding) return {};
    finding->symptom = "wrong_intermediate_value";
    finding->causes = {"stale_or_missing_state_update", "gradient_scaling_or_reduction_error",
                       "stream_or_buffer_race"};
    return {*finding};
}

extern const DetectorRow value_wrong_row{
    .name = "value_wrong", .reports = {"wrong_intermediate_value"}, .examine = value_wrong};

}  // namespace deadrank::results::detectors
