// results/detectors/inference_inconsistency.h — Ranks that answer together answer differently, or not as
// one device would.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class InferenceInconsistency final : public Detector {
public:
    std::string_view name() const override { return "inference_inconsistency"; }
    std::vector<std::string_view> symptoms() const override {
        return {"inference_output_inconsistency_across_devices"};
    }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
