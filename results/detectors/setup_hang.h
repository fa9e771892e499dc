// results/detectors/setup_hang.h — Rendezvous or a communicator never returned. Those who never came are to
// blame.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class SetupHang final : public Detector {
public:
    std::string_view name() const override { return "setup_hang"; }
    std::vector<std::string_view> symptoms() const override { return {"communication_setup_hang"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
