// results/detectors/restart_failure.h — After a fault the job did not come back by itself.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class RestartFailure final : public Detector {
public:
    std::string_view name() const override { return "restart_failure"; }
    std::vector<std::string_view> symptoms() const override { return {"restart_or_recovery_failure"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
