// sim/machine/topology.cpp — Where things are, what lies between two devices, and what is unusual for a
// transfer from a time on.
#include "sim/machine/topology.h"

#include <algorithm>
#include <charconv>

namespace deadrank::sim {

__extension__ typedef __int128 Wide128;

Time time_of(std::int64_t bytes, std::int64_t bits_per_second) {
    if (bytes <= 0) return Time{0};
    const Wide128 bits = Wide128{bytes} * 8 * 1'000'000'000;
    const Wide128 nanoseconds = (bits + bits_per_second - 1) / std::max<std::int64_t>(bits_per_second, 1);
    return Time(static_cast<std::int64_t>(std::min<Wide128>(nanoseconds, results::never.count() / 8)));
}

Hop Topology::hop(DevicePlace from, DevicePlace to) const {
    if (from.node == to.node)
        return {from.node, to.node, settings_.nvlink_latency, settings_.nvlink_bandwidth};
    Hop hop{from.node, to.node, settings_.link_latency, settings_.link_bandwidth};
    switch (settings_.topology) {
        case TopologyKind::single_switch:
            break;
        case TopologyKind::rails:
            // To another rail: first over NVLink to the device that sits on it.
            if (from.local != to.local) hop.latency += settings_.nvlink_latency;
            break;
        case TopologyKind::leaf_spine: {
            const int nodes_per_leaf = std::max(1, settings_.nodes_per_leaf);
            if (from.node / nodes_per_leaf != to.node / nodes_per_leaf)
                hop.latency += 2 * settings_.link_latency;
            break;
        }
    }
    return hop;
}

int Topology::cards() const {
    if (settings_.nics > 0) return settings_.nics;
    return settings_.topology == TopologyKind::rails ? settings_.gpus_per_node : 1;
}

int Topology::port(DevicePlace place, int card) const {
    return place.node * cards() + (card >= 0 ? card : card_of(place.local));
}

std::string Topology::host_name(int node) const { return "node" + std::to_string(node); }

int Topology::node_named(std::string_view host) const {
    constexpr std::string_view named = "node", numbered = "10.0.0.";  // node 0 is also 10.0.0.1
    const std::string_view begins = host.starts_with(numbered) ? numbered : named;
    if (!host.starts_with(begins)) return -1;
    int node = -1;
    const auto [end, error] = std::from_chars(host.data() + begins.size(), host.data() + host.size(), node);
    const bool whole = error == std::errc() && end == host.data() + host.size();
    if (begins == numbered) --node;
    return whole && node >= 0 && node < settings_.nodes ? node : -1;
}

}  // namespace deadrank::sim
