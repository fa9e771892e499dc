// sim/collectives/communicator_links.cpp — A communicator's ring as the links are now: its hops, what crosses
// a link that changes, and what breaks when one stays down.
#include <algorithm>
#include <utility>

#include "sim/collectives/communicator.h"
#include "sim/collectives/fabric.h"
#include "sim/collectives/library_texts.h"

namespace deadrank::sim {

DevicePlace Communicator::place_of(Rank index) const {
    if (has_crowd()) {  // whose places are the launcher's
        const int per_node = machine_.settings.gpus_per_node;
        const Rank process = ranks_[static_cast<std::size_t>(index)];
        return {process / per_node, process % per_node};
    }
    const Process& process = machine_.processes[member(index).process];
    return {process.node, process.local};
}

Hop Communicator::hop_between(Rank from, Rank to) const {
    return transport_.over(machine_.network.now(machine_.topology.hop(place_of(from), place_of(to))));
}

Hop Communicator::usual_hop(Rank from, Rank to) const {
    return transport_.over(machine_.topology.hop(place_of(from), place_of(to)));
}

void Transport::add(const NcclSettings& settings, int node, std::int64_t link_bandwidth) {
    const std::int64_t own = settings.own_permille(link_bandwidth);
    if (own < 1000) slower.push_back({node, own});
    if (!settings.socket_transport && settings.direct == results::DirectAccess::blocked)
        blocked.push_back(node);
    if (settings.through_shared) shared.push_back(node);
    if (settings.peers_stuck) stuck.push_back(node);
}

void Transport::sort() {
    std::sort(slower.begin(), slower.end(), [](const NodeShare& a, const NodeShare& b) {
        return std::pair(a.node, a.permille) < std::pair(b.node, b.permille);
    });
    const auto same = [](const NodeShare& a, const NodeShare& b) { return a.node == b.node; };
    slower.erase(std::unique(slower.begin(), slower.end(), same), slower.end());
    for (std::vector<int>* nodes : {&blocked, &shared, &stuck}) std::sort(nodes->begin(), nodes->end());
}

Hop Transport::over(Hop hop) const {
    constexpr std::int64_t shared_permille = 100;  // of NVLink: two copies through the processor's memory
    if (usual()) return hop;
    if (hop.from == hop.to) {
        const bool copies = std::binary_search(shared.begin(), shared.end(), hop.from);
        if (copies) hop.bandwidth = hop.bandwidth * shared_permille / 1000;
        return hop;
    }
    std::int64_t share = permille;
    for (const int node : {hop.from, hop.to}) {
        const auto own = std::lower_bound(slower.begin(), slower.end(), node,
                                          [](const NodeShare& one, int wanted) { return one.node < wanted; });
        if (own != slower.end() && own->node == node) share = std::min(share, own->permille);
    }
    hop.bandwidth = hop.bandwidth * share / 1000;
    return hop;
}

void Communicator::use(Transport transport) {
    transport.sort();
    transport_ = std::move(transport);
    if (!transport_.cards.empty()) find_ports();
    if (transport_.usual()) return;
    ring_ = {.size = size()};
    for (Rank i = 0; i < size() && size() > 1; ++i) ring_.add(usual_hop(i, (i + 1) % size()));
}

// A card that cannot read its device fails on its own side, one that cannot write to it on its peer's.
std::string Communicator::access_problem(Rank from, Rank to) const {
    const int sender = place_of(from).node, receiver = place_of(to).node;
    if (transport_.blocked.empty() || sender == receiver) return {};
    if (!transport_.blocks(sender) && !transport_.blocks(receiver)) return {};
    return access_denied_text(machine_.topology.host_name(receiver), transport_.blocks(sender));
}

bool Communicator::never_ends(Rank from, Rank to) const {
    return !transport_.stuck.empty() &&
           transport_.never_ends(machine_.topology.hop(place_of(from), place_of(to)));
}

// Kernels wait for each other's flags for ever, and nobody is told.
bool Communicator::peers_reach_each_other() const {
    for (Rank sender = 0; sender < size() && size() > 1 && !transport_.stuck.empty(); ++sender) {
        if (never_ends(sender, (sender + 1) % size())) return false;
    }
    return true;
}

bool Communicator::cards_reach_devices() {
    bool all = true;
    for (Rank sender = 0; sender < size() && !transport_.blocked.empty(); ++sender) {
        std::string problem = access_problem(sender, (sender + 1) % size());
        if (problem.empty()) continue;
        async_error(sender, Code::remote_error, std::move(problem));
        all = false;
    }
    return all;
}

void Communicator::find_ports() {
    for (std::vector<int>* list : {&nodes_, &ports_out_, &ports_in_}) list->clear();
    for (Rank i = 0; i < size(); ++i) {
        const DevicePlace from = place_of(i), to = place_of((i + 1) % size());
        nodes_.push_back(from.node);
        if (from.node == to.node) continue;
        ports_out_.push_back(port_of(i));
        ports_in_.push_back(port_of((i + 1) % size()));
    }
    for (std::vector<int>* list : {&nodes_, &ports_out_, &ports_in_}) {
        std::sort(list->begin(), list->end());
        list->erase(std::unique(list->begin(), list->end()), list->end());
    }
}

int Communicator::port_of(Rank index) const {
    const std::vector<int>& cards = transport_.cards;
    return machine_.topology.port(place_of(index),
                                  cards.empty() ? -1 : cards[static_cast<std::size_t>(index)]);
}

bool Communicator::stands_still(Rank from, Rank to) const {
    if (!machine_.processes.any_stopped() || place_of(from).node == place_of(to).node) return false;
    return machine_.processes[member(from).process].stopped || machine_.processes[member(to).process].stopped;
}

RingCost Communicator::ring_now(Rank* broken) const {
    if (!machine_.network.disturbed()) return ring_;
    RingCost ring;
    ring.size = size();
    for (Rank i = 0; i < size() && size() > 1; ++i) {
        const Hop hop = hop_between(i, (i + 1) % size());
        if (hop.bandwidth == 0 && broken) *broken = i;
        ring.add(hop);
    }
    return ring;
}

bool Communicator::crosses(const LinkChange& change) const {
    for (std::size_t i = 0; i + 1 < nodes_out_.size(); i += 2) {
        const auto fits_end = [](int wanted, int node) { return wanted < 0 || wanted == node; };
        const int from = nodes_out_[i], to = nodes_out_[i + 1];
        if (fits_end(change.from, from) && fits_end(change.to, to)) return true;
        if (!change.one_way && fits_end(change.from, to) && fits_end(change.to, from)) return true;
    }
    return false;
}

void Communicator::shares_changed(const Ports& ports) {
    const auto common = [](std::span<const int> mine, std::span<const int> others) {
        return std::any_of(mine.begin(), mine.end(), [&](int port) {
            return std::find(others.begin(), others.end(), port) != others.end();
        });
    };
    const bool moving = !open_.empty() && open_.front()->state == PendingCollective::State::moving;
    if (moving && (common(ports_out_, ports.out) || common(ports_in_, ports.in))) pace(*open_.front());
    p2p_.shares_changed(ports);
}

void Communicator::member_stopped() {
    if (nodes_.size() < 2) return;
    if (!open_.empty() && open_.front()->state == PendingCollective::State::moving) pace(*open_.front());
    p2p_.links_changed();
}

void Communicator::links_changed(const LinkChange* reset) {
    if (reset && crosses(*reset)) {
        broken_ = true;
        p2p_.break_connections();
        if (!open_.empty() && open_.front()->state == PendingCollective::State::moving) halt(*open_.front());
        for (Rank i = 0; i < size() && size() > 1; ++i) {
            const Rank next = (i + 1) % size();
            const Hop hop = machine_.topology.hop(place_of(i), place_of(next));
            if (hop.from == hop.to || !machine_.network.state(hop.from, hop.to).down) continue;
            const auto text = over_gloo() ? gloo_read_text : connection_closed_text;
            async_error(i, Code::remote_error, text(machine_.topology.host_name(hop.to)));
            async_error(next, Code::remote_error, text(machine_.topology.host_name(hop.from)));
        }
        return;
    }
    if (!open_.empty() && open_.front()->state == PendingCollective::State::moving) pace(*open_.front());
    p2p_.links_changed();
}

}  // namespace deadrank::sim
