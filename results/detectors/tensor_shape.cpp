// results/detectors/tensor_shape.cpp — An operation refused tensors whose shape, index or type does not fit.
// The exception names the operation; the first rank to raise it is to blame.
#include "results/analysis/complaints.h"
#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

using namespace analysis;

Findings tensor_shape(const Evidence& evidence) {
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::shape)) {
        findings.push_back(finding_of(evidence, outbreak, "tensor_shape_or_dtype_error",
                                      {"shard_layout_or_offset_error", "communication_order_divergence"}));
    }
    return findings;
}

extern const DetectorRow tensor_shape_row{
    .name = "tensor_shape", .reports = {"tensor_shape_or_dtype_error"}, .examine = tensor_shape};

}  // namespace deadrank::results::detectors
