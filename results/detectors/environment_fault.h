// results/detectors/environment_fault.h — A variable is missing, unreadable, misspelled or unlike its
// peers', and something broke that it governs.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class EnvironmentFault final : public Detector {
public:
    std::string_view name() const override { return "environment_fault"; }
    std::vector<std::string_view> symptoms() const override {
        return {"communication_setup_failure", "communication_setup_hang", "wrong_rank_or_group_membership",
                "collective_mismatch_error",   "collective_timeout_abort", "collective_deadlock_hang"};
    }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
