// results/detectors/tensor_shape.cpp — An operation refused tensors whose shape, index or type does not fit.
// The exception names the operation; the first rank to raise it is to blame.
#include "results/analysis/complaints.h"
#include "results/detectors/detector.h"
#include "scenarios/model/taxonomy_ids.h"

namespace deadrank::results::detectors {

using scenarios::Cause;
using scenarios::Symptom;

using namespace analysis;

Findings tensor_shape(const Evidence& evidence) {
    std::vector<Finding> findings;
    for (const Outbreak& outbreak : find_outbreaks(evidence, Trouble::shape)) {
        findings.push_back(finding_of(
            evidence, outbreak, id_of(Symptom::tensor_shape_or_dtype_error),
            {id_of(Cause::shard_layout_or_offset_error), id_of(Cause::communication_order_divergence)}));
    }
    return findings;
}

extern const DetectorRow tensor_shape_row{.name = "tensor_shape",
                                          .reports = {id_of(Symptom::tensor_shape_or_dtype_error)},
                                          .examine = tensor_shape};

}  // namespace deadrank::results::detectors
