// results/detectors/shard_mismatch.h — The parts that ranks believe to own overlap, leave gaps, or have a
// wrong length.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class ShardMismatch final : public Detector {
public:
    std::string_view name() const override { return "shard_mismatch"; }
    std::vector<std::string_view> symptoms() const override {
        return {"parallel_result_mismatch", "inference_output_inconsistency_across_devices"};
    }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
