// results/detectors/unexpected_parallelization.h — Ranks train alone, or in smaller groups than configured.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class UnexpectedParallelization final : public Detector {
public:
    std::string_view name() const override { return "unexpected_parallelization"; }
    std::vector<std::string_view> symptoms() const override { return {"unexpected_parallelization"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
