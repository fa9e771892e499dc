// results/detectors/device_memory.h — An allocation on a device failed. The first rank decides.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class DeviceMemory final : public Detector {
public:
    std::string_view name() const override { return "device_memory"; }
    std::vector<std::string_view> symptoms() const override { return {"device_out_of_memory"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
