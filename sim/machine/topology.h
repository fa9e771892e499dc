// sim/machine/topology.h — Where things are, what lies between two devices, and what is unusual for a
// transfer from a time on.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/changes.h"
#include "results/record/time.h"
#include "sim/machine/cluster_settings.h"

namespace deadrank::sim {

// ── Where things are, and what lies between two devices: NVLink within a node, the network between nodes.
// Switches do not block; a hop costs its latency and its bytes over its bandwidth, which transfers that use
// a port at the same time share.

struct DevicePlace {
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

    Hop hop(DevicePlace from, DevicePlace to) const;
    // Network cards of a node, and the one that a device's data leaves and enters by unless told otherwise.
    int cards() const;
    int card_of(int local) const { return local * cards() / settings_.gpus_per_node; }
    int port(DevicePlace place, int card = -1) const;  // a card, counted over all nodes; -1 = the device's
    int ports() const { return settings_.nodes * cards(); }
    std::string host_name(int node) const;        // node0, node1, …
    int node_named(std::string_view host) const;  // -1 when there is none

private:
    const ClusterSettings& settings_;
};

// Nanoseconds for so many bytes; never less than 1 for any byte at all.
Time time_of(std::int64_t bytes, std::int64_t bits_per_second);

// ── What is unusual for a transfer from a time on: links that were changed, ports that it shares with
// others, members whose processes are stopped.

using results::LinkChange;
using results::Time;

using results::Rank;

// The ports that a transfer uses: those by which it leaves nodes, and by which it enters them.
struct Ports {
    std::span<const int> out, in;
};

struct PortShare {
    int port = 0;
    int out = 1, in = 1;  // transfers that use it at the same time

    bool operator==(const PortShare&) const = default;
};

struct LinkConditions {
    Time since{0};
    std::uint64_t version = 0;      // of the links: equal versions are equal links
    std::vector<LinkChange> links;  // as the network keeps them; empty: none that concerns it
    std::vector<PortShare> shared;  // by port
    std::vector<Rank> stopped;      // places in the communicator, ascending

    bool usual() const { return links.empty() && shared.empty() && stopped.empty(); }
    bool same_as(const LinkConditions& other) const {
        return version == other.version && shared == other.shared && stopped == other.stopped;
    }
};

}  // namespace deadrank::sim
