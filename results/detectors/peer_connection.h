// results/detectors/peer_connection.h — A connection broke during work. The one whom all accuse is to
// blame, not the first who complained.
#pragma once

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

class PeerConnection final : public Detector {
public:
    std::string_view name() const override { return "peer_connection"; }
    std::vector<std::string_view> symptoms() const override { return {"remote_peer_connection_error"}; }
    std::vector<Finding> examine(const Evidence& evidence) const override;
};

}  // namespace deadrank::results::detectors
