// results/detectors/unbalanced_memory.h — One device carries much more than its peers.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class UnbalancedMemory final : public Detector {
public:
    std::string_view name() const override { return "unbalanced_memory"; }
    std::vector<std::string_view> symptoms() const override { return {"unbalanced_rank_memory"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
