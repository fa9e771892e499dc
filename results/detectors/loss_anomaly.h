// results/detectors/loss_anomaly.h — The loss is no number, stuck at zero, or leaves its band.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class LossAnomaly final : public Detector {
public:
    std::string_view name() const override { return "loss_anomaly"; }
    std::vector<std::string_view> symptoms() const override { return {"loss_nan_or_divergence"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
