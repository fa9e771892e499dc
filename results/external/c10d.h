// results/external/c10d.h — PyTorch's own checks as a detector: what ProcessGroupWrapper, the watchdog and
// the store printed in the run, and whom those words name.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::external {

class C10d final : public Detector {
public:
    std::string_view name() const override { return "c10d"; }
    std::vector<std::string_view> symptoms() const override;
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::external
