// results/detectors/host_exhaustion.h — Host memory, shared memory, descriptors or disk ran out, or are
// about to.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class HostExhaustion final : public Detector {
public:
    std::string_view name() const override { return "host_exhaustion"; }
    std::vector<std::string_view> symptoms() const override { return {"host_resource_exhaustion"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
