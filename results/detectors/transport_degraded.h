// results/detectors/transport_degraded.h — Collectives are right but slow, or run over another transport
// than their peers'.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class TransportDegraded final : public Detector {
public:
    std::string_view name() const override { return "transport_degraded"; }
    std::vector<std::string_view> symptoms() const override { return {"collective_transport_degraded"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
