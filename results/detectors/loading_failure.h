// results/detectors/loading_failure.h — Model or data could not be loaded, or were silently not loaded.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class LoadingFailure final : public Detector {
public:
    std::string_view name() const override { return "loading_failure"; }
    std::vector<std::string_view> symptoms() const override { return {"model_or_data_loading_failure"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
