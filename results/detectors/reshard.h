// results/detectors/reshard.h — A sound checkpoint does not fit the ranks: shards are missing, doubled, or
// for another layout.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class Reshard final : public Detector {
public:
    std::string_view name() const override { return "reshard"; }
    std::vector<std::string_view> symptoms() const override { return {"reshard_restore_failure"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
