// results/detectors/test_failure.h — A project's own test failed.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class TestFailure final : public Detector {
public:
    std::string_view name() const override { return "test_failure"; }
    std::vector<std::string_view> symptoms() const override { return {"ci_or_test_failure"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
