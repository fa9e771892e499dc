// sim/machine/topology.h — Where things are, and what lies between two devices: NVLink within a node, the
// network between nodes. Switches do not block; a hop costs its latency and its bytes over its bandwidth,
// which transfers that use a port at the same time share.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "sim/machine/cluster_settings.h"

namespace deadrank::sim {

struct Place {
    int node = 0;
    int local = 0;  // device within the node
};

struct Hop {
    int from = 0, to = 0;  // nodes; equal: NVLink
    Time latency{0};
    std::int64_t bandwidth = 1;  // bits per second
};

class Topology {
public:
    explicit Topology(const ClusterSettings& settings) : settings_(settings) {}

    Hop hop(Place from, Place to) const;
    // The port by which a device's data leaves and enters its node: of its own on rails, the node's
    // elsewhere.
    int port(Place place) const;
    int ports() const;
    std::string host_name(int node) const;        // node0, node1, …
    int node_named(std::string_view host) const;  // -1 when there is none

private:
    const ClusterSettings& settings_;
};

// Nanoseconds for so many bytes; never less than 1 for any byte at all.
Time time_of(std::int64_t bytes, std::int64_t bits_per_second);

}  // namespace deadrank::sim
