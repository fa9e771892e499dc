// results/detectors/replica_divergence.h — Ranks that must hold the same hold different things. The
// majority decides who is odd.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class ReplicaDivergence final : public Detector {
public:
    std::string_view name() const override { return "replica_divergence"; }
    std::vector<std::string_view> symptoms() const override { return {"replica_state_divergence"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
