// sim/machine/link_conditions.h — What is unusual for a transfer from a time on: links that were changed,
// ports that it shares with others, members whose processes stand still.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "results/record/changes.h"
#include "results/record/time.h"

namespace deadrank::sim {

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
