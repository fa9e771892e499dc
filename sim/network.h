// sim/network.h — The state of the links between nodes, and how long data takes over them while they are
// healthy, slow, lossy or down. Untouched links cost nothing to ask about: disturbed() is false then.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/changes.h"
#include "sim/topology.h"

namespace deadrank::sim {

struct Machine;

struct LinkState {
    bool down = false;
    std::int64_t bandwidth_permille = 1000;
    Time extra_latency{0};
    std::int64_t loss_ppb = 0;

    bool healthy() const {
        return !down && bandwidth_permille == 1000 && extra_latency == Time{0} && loss_ppb == 0;
    }
};

// What the ports of a node counted since the job began.
struct PortCounters {
    std::int64_t sent = 0, received = 0, errors = 0, retransmits = 0;
};

// What so many retransmissions cost on a hop.
Time loss_penalty(const Hop& hop, std::int64_t retransmits);

class Network {
public:
    explicit Network(Machine& machine);

    bool disturbed() const { return !changes_.empty(); }
    LinkState state(int from, int to) const;
    void change(
        const LinkChange& change);  // tells the communicators, whose transfers then go on at another pace

    // The hop as it is now: slower, longer, or with bandwidth 0 when it is down.
    Hop now(Hop hop) const;

    // Packets that a lossy hop sends again for so many bytes: the expected number, without chance.
    std::int64_t retransmits(const Hop& hop, std::int64_t bytes) const;

    void count(int from, int to, std::int64_t bytes, std::int64_t retransmits = 0);
    PortCounters& ports(int node) { return ports_[static_cast<std::size_t>(node)]; }
    bool up(int node) const;  // false when all its links to others are down

private:
    Machine& machine_;
    std::vector<LinkChange> changes_;  // merged by whom they concern, the latest last
    std::vector<PortCounters> ports_;
};

}  // namespace deadrank::sim
