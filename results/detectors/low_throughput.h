// results/detectors/low_throughput.h — All ranks are slower than they were, or stall together again and
// again.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class LowThroughput final : public Detector {
public:
    std::string_view name() const override { return "low_throughput"; }
    std::vector<std::string_view> symptoms() const override { return {"low_throughput_uniform"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
