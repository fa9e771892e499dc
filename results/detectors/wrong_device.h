// results/detectors/wrong_device.h — Work landed on another device than asked for.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class WrongDevice final : public Detector {
public:
    std::string_view name() const override { return "wrong_device"; }
    std::vector<std::string_view> symptoms() const override { return {"wrong_device_used"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
