// results/detectors/tensor_shape.h — An operation refused tensors whose shape, index or type do not fit.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class TensorShape final : public Detector {
public:
    std::string_view name() const override { return "tensor_shape"; }
    std::vector<std::string_view> symptoms() const override { return {"tensor_shape_or_dtype_error"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
