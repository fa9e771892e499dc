// results/detectors/device_fault.h — Hardware or driver reports a fault.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class DeviceFault final : public Detector {
public:
    std::string_view name() const override { return "device_fault"; }
    std::vector<std::string_view> symptoms() const override { return {"device_fault_reported"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
