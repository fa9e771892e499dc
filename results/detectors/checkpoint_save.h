// results/detectors/checkpoint_save.h — Saving failed, or wrote visibly nothing.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class CheckpointSave final : public Detector {
public:
    std::string_view name() const override { return "checkpoint_save"; }
    std::vector<std::string_view> symptoms() const override { return {"checkpoint_save_failure"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
