// results/detectors/parallel_mismatch.cpp — The result differs from the same training on one rank, where no
// parallel layout can be wrong.
#include "results/analysis/findings.h"
#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

using namespace analysis;

Findings parallel_mismatch(const Evidence& evidence) {
    auto finding = find_first_wrong_value(evidence, Origin::reference);
    // Served tokens are compared with a single device as well; inference_inconsistency reports those.
    if (!finding || finding->blame.variable.starts_with("reference.token")) return {};
    finding->symptom = "parallel_result_mismatch";
    finding->causes = {"gradient_scaling_or_reduction_error", "shard_layout_or_offset_error",
                       "rng_or_seed_coordination_error"};
    return {*finding};
}

extern const DetectorRow parallel_mismatch_row{
    .name = "parallel_mismatch", .reports = {"parallel_result_mismatch"}, .examine = parallel_mismatch};

}  // namespace deadrank::results::detectors
