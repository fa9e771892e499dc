// results/detectors/parallel_mismatch.cpp — The reference is the same training on one rank, which no layout
// can spoil.
#include "results/detectors/parallel_mismatch.h"

#include "results/facts/wrong_value_finding.h"

namespace deadrank::results::detectors {

std::vector<Finding> ParallelMismatch::examine(const Evidence& evidence) const {
    auto finding = first_wrong(evidence, Origin::reference);
    // What was served is compared with one device as well, and is the matter of inference_inconsistency.
    if (!finding || finding->blame.variable.starts_with("reference.token")) return {};
    finding->symptom = "parallel_result_mismatch";
    finding->detector = name();
    finding->causes = {"gradient_scaling_or_reduction_error", "shard_layout_or_offset_error",
                       "rng_or_seed_coordination_error"};
    return {*finding};
}

}  // namespace deadrank::results::detectors
