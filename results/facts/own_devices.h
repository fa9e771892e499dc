// results/facts/own_devices.h — Which device is a rank's own, by the pattern of its peers: the n-th rank of a
// host takes the n-th device.
#pragma once

#include <cstdint>
#include <map>

#include "results/record/evidence.h"

namespace deadrank::results {

class OwnDevices {
public:
    explicit OwnDevices(const Evidence& evidence);

    // -1: the process was never seen to start.
    std::int32_t of(Rank rank) const;

private:
    std::map<Rank, std::int32_t> places_;
};

}  // namespace deadrank::results
