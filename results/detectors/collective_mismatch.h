// results/detectors/collective_mismatch.h — Ranks came to the same call with different calls: operation,
// count, type, reduction or root.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class CollectiveMismatch final : public Detector {
public:
    std::string_view name() const override { return "collective_mismatch"; }
    std::vector<std::string_view> symptoms() const override { return {"collective_mismatch_error"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
