// results/detectors/parallel_mismatch.h — The result differs from the same training on one rank.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class ParallelMismatch final : public Detector {
public:
    std::string_view name() const override { return "parallel_mismatch"; }
    std::vector<std::string_view> symptoms() const override { return {"parallel_result_mismatch"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
