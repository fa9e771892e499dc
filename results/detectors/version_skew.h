// results/detectors/version_skew.h — Ranks run different versions of one package, and something broke: the
// versions are the reason behind the symptom.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class VersionSkew final : public Detector {
public:
    std::string_view name() const override { return "version_skew"; }
    std::vector<std::string_view> symptoms() const override {
        return {"communication_setup_failure", "communication_setup_hang", "collective_mismatch_error",
                "collective_timeout_abort",    "collective_deadlock_hang", "framework_runtime_exception"};
    }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
