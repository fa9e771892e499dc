// results/detectors/sample_coverage.h — Samples are seen twice, left out, or come in the same order every
// epoch.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class SampleCoverage final : public Detector {
public:
    std::string_view name() const override { return "sample_coverage"; }
    std::vector<std::string_view> symptoms() const override { return {"wrong_sample_coverage"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
