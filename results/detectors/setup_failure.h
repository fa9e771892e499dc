// results/detectors/setup_failure.h — Rendezvous or a communicator ended with an error. Those who caused it
// are named, not those who waited for them.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class SetupFailure final : public Detector {
public:
    std::string_view name() const override { return "setup_failure"; }
    std::vector<std::string_view> symptoms() const override { return {"communication_setup_failure"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
