// results/detectors/collective_timeout.h — A watchdog ended the wait. Who was waited for is to blame, not
// who complained.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class CollectiveTimeout final : public Detector {
public:
    std::string_view name() const override { return "collective_timeout"; }
    std::vector<std::string_view> symptoms() const override { return {"collective_timeout_abort"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
