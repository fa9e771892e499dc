// runners/serve/ras_poller.h — Whoever polls NCCL's RAS, as a tool under test: asks over TCP at the first
// minute without progress, and reads the answer as an operator would.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::runners::serve {

class RasPoller final : public results::Detector {
public:
    std::string_view name() const override { return "nccl_ras"; }
    std::vector<std::string_view> symptoms() const override;
    std::vector<results::Finding> examine(const results::Evidence& evidence) const override;
};

}  // namespace deadrank::runners::serve
