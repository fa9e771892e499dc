// sim/machine/network.h — The state of the links between nodes, and how long data takes over them while they
// are healthy, slow, lossy or down. Untouched links cost nothing to ask about: disturbed() is false then.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "sim/machine/topology.h"

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

// The latest value of each change that covers the link; what none of them names is normal.
LinkState state_under(const std::vector<LinkChange>& changes, int from, int to);

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
    LinkState state(int from, int to) const { return state_under(changes_, from, to); }
    const std::vector<LinkChange>& changes() const { return changes_; }
    std::uint64_t version() const { return version_; }
    bool touches(const std::vector<int>& nodes) const;  // whether links among them may be unusual
    void change(
        const LinkChange& change);  // tells the communicators, whose transfers then go on at another pace

    // The hop as it is now: slower, longer, or with bandwidth 0 when it is down.
    Hop now(Hop hop) const;

    // Packets that a lossy hop sends again for so many bytes: the expected number, without chance.
    std::int64_t retransmits(const Hop& hop, std::int64_t bytes) const;

    // Transfers that use a port at the same time share it in equal parts. True: it has other users as well.
    bool take(const Ports& ports);
    bool release(const Ports& ports);
    int leaving_by(int port) const { return leaving_[static_cast<std::size_t>(port)]; }
    int entering_by(int port) const { return entering_[static_cast<std::size_t>(port)]; }
    int sharers(int out, int in) const { return std::max({leaving_by(out), entering_by(in), 1}); }

    void count(int from, int to, std::int64_t bytes, std::int64_t retransmits = 0);
    PortCounters& ports(int node) { return ports_[static_cast<std::size_t>(node)]; }
    bool up(int node) const;  // false when all its links to others are down

    // Of the node's own port; a break further on leaves it its carrier.
    bool has_carrier(int node) const;
    int carrier_losses(int node) const { return carrier_losses_[static_cast<std::size_t>(node)]; }
    void replace(int node);  // another machine is plugged in: what was wrong with its links is gone

private:
    Machine& machine_;
    std::vector<LinkChange> changes_;  // merged by whom they concern, the latest last
    std::uint64_t version_ = 0;
    std::vector<PortCounters> ports_;      // by node
    std::vector<int> carrier_losses_;      // by node
    std::vector<int> leaving_, entering_;  // transfers under way, by port
};

}  // namespace deadrank::sim
