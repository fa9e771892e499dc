// results/detectors/resume_regression.h — Training went on from another state than it had left.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class ResumeRegression final : public Detector {
public:
    std::string_view name() const override { return "resume_regression"; }
    std::vector<std::string_view> symptoms() const override { return {"resume_state_regression"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
