// results/detectors/tensor_shape.cpp — The exception names the operation; who raised it first is to blame.
#include "results/detectors/tensor_shape.h"

#include "results/facts/outbreaks.h"

namespace deadrank::results::detectors {

std::vector<Finding> TensorShape::examine(const Evidence& evidence) const {
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : outbreaks(evidence, Trouble::shape)) {
        findings.push_back(finding_of(evidence, outbreak, "tensor_shape_or_dtype_error", name(),
                                      {"shard_layout_or_offset_error", "communication_order_divergence"}));
    }
    return findings;
}

}  // namespace deadrank::results::detectors
