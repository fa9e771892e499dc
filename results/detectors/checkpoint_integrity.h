// results/detectors/checkpoint_integrity.h — What was loaded is not what was saved: cut, changed, or
// published before it was whole.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class CheckpointIntegrity final : public Detector {
public:
    std::string_view name() const override { return "checkpoint_integrity"; }
    std::vector<std::string_view> symptoms() const override { return {"checkpoint_unreadable"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
