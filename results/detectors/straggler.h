// results/detectors/straggler.h — One rank, fixed or rotating, comes late and the rest wait. Only a rank's
// own time counts, not its waiting.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class Straggler final : public Detector {
public:
    std::string_view name() const override { return "straggler"; }
    std::vector<std::string_view> symptoms() const override { return {"straggler_step_time_skew"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
