// results/detectors/value_wrong.h — A logged quantity is not what the job's own definition gives.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class ValueWrong final : public Detector {
public:
    std::string_view name() const override { return "value_wrong"; }
    std::vector<std::string_view> symptoms() const override { return {"wrong_intermediate_value"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
