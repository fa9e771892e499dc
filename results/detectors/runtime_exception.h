// results/detectors/runtime_exception.h — A framework raised an exception that is about nothing more
// specific.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class RuntimeException final : public Detector {
public:
    std::string_view name() const override { return "runtime_exception"; }
    std::vector<std::string_view> symptoms() const override { return {"framework_runtime_exception"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
