// results/detectors/collective_hang.h — Some ranks entered a collective and never left it. Those who never
// came are to blame.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class CollectiveHang final : public Detector {
public:
    std::string_view name() const override { return "collective_hang"; }
    std::vector<std::string_view> symptoms() const override { return {"collective_deadlock_hang"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
