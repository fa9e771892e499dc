// sim/machine/network.cpp — Changes are kept as patterns and folded when asked: a cluster of thousands of
// nodes has millions of pairs.
#include "sim/machine/network.h"

#include <algorithm>

#include "sim/machine/link_history.h"
#include "sim/machine/machine.h"

namespace deadrank::sim {

namespace {

bool covers_link(const LinkChange& change, int from, int to) {
    const auto fits = [&](int a, int b) {
        return (change.from < 0 || change.from == a) && (change.to < 0 || change.to == b);
    };
    const bool within = change.from >= 0 && change.from == change.to;
    if (within != (from == to)) return false;
    return fits(from, to) || (!change.one_way && fits(to, from));
}

bool healthy(const LinkChange& change) {
    return !change.down.value_or(false) && change.bandwidth_permille.value_or(1000) == 1000 &&
           change.extra_latency.value_or(Time{0}) == Time{0} && change.loss_ppb.value_or(0) == 0;
}

template <class T>
void merge(std::optional<T>& into, const std::optional<T>& from) {
    if (from) into = from;
}

}  // namespace

Network::Network(Machine& machine)
    : machine_(machine),
      ports_(static_cast<std::size_t>(machine.settings.nodes)),
      carrier_losses_(ports_.size()),
      leaving_(static_cast<std::size_t>(machine.topology.ports())),
      entering_(leaving_.size()) {}

LinkState state_under(const std::vector<LinkChange>& changes, int from, int to) {
    LinkState state;
    for (const LinkChange& change : changes) {
        if (!covers_link(change, from, to)) continue;
        state.down = change.down.value_or(state.down);
        state.bandwidth_permille = change.bandwidth_permille.value_or(state.bandwidth_permille);
        state.extra_latency = change.extra_latency.value_or(state.extra_latency);
        state.loss_ppb = change.loss_ppb.value_or(state.loss_ppb);
    }
    return state;
}

void Network::change(const LinkChange& change) {
    std::vector<int> were_up;
    for (int node = 0; node < machine_.settings.nodes; ++node) {
        if (up(node)) were_up.push_back(node);
    }
    const bool had_carrier = change.from >= 0 && has_carrier(change.from);
    LinkChange merged = change;
    const auto same = std::find_if(changes_.begin(), changes_.end(), [&](const LinkChange& known) {
        return known.from == change.from && known.to == change.to && known.one_way == change.one_way;
    });
    if (same != changes_.end()) {
        merged = *same;
        changes_.erase(same);
        merge(merged.down, change.down);
        merge(merged.bandwidth_permille, change.bandwidth_permille);
        merge(merged.extra_latency, change.extra_latency);
        merge(merged.loss_ppb, change.loss_ppb);
    }
    changes_.push_back(merged);
    ++version_;
    if (had_carrier && !has_carrier(change.from)) ++carrier_losses_[static_cast<std::size_t>(change.from)];
    // A port counts when it goes down itself; it does not notice a break further on, between switches.
    for (const int node : were_up) {
        if (!up(node)) ++ports(node).errors;
    }
    machine_.links_changed(change.reset && change.down.value_or(false) ? &change : nullptr);
}

bool Network::touches(const std::vector<int>& nodes) const {
    const auto among = [&](int node) {
        return node < 0 || std::binary_search(nodes.begin(), nodes.end(), node);
    };
    return std::any_of(changes_.begin(), changes_.end(), [&](const LinkChange& change) {
        return !healthy(change) && among(change.from) && among(change.to);
    });
}

bool Network::take(const Ports& ports) {
    bool shared = false;
    for (const int port : ports.out) shared |= ++leaving_[static_cast<std::size_t>(port)] > 1;
    for (const int port : ports.in) shared |= ++entering_[static_cast<std::size_t>(port)] > 1;
    return shared;
}

bool Network::release(const Ports& ports) {
    bool shared = false;
    for (const int port : ports.out) shared |= --leaving_[static_cast<std::size_t>(port)] > 0;
    for (const int port : ports.in) shared |= --entering_[static_cast<std::size_t>(port)] > 0;
    return shared;
}

Hop Network::now(Hop hop) const {
    if (!disturbed()) return hop;
    const LinkState link = state(hop.from, hop.to);
    if (link.healthy()) return hop;
    if (link.down || link.loss_ppb >= billion || link.bandwidth_permille <= 0) {
        hop.bandwidth = 0;
        return hop;
    }
    hop.bandwidth = std::max<std::int64_t>(1, hop.bandwidth / 1000 * link.bandwidth_permille);
    hop.latency += link.extra_latency;
    return hop;
}

std::int64_t Network::retransmits(const Hop& hop, std::int64_t bytes) const {
    if (!disturbed() || bytes <= 0) return 0;
    return expected_resent(bytes, state(hop.from, hop.to).loss_ppb);
}

Time loss_penalty(const Hop& hop, std::int64_t retransmits) {
    return resending_time(retransmits, hop.latency, hop.bandwidth);
}

void Network::count(int from, int to, std::int64_t bytes, std::int64_t resent) {
    if (from == to) return;
    ports(from).sent += bytes;
    ports(to).received += bytes;
    ports(from).retransmits += resent;
}

bool Network::has_carrier(int node) const {
    return std::none_of(changes_.begin(), changes_.end(), [&](const LinkChange& change) {
        return change.from == node && change.to < 0 && change.down.value_or(false);
    });
}

void Network::replace(int node) {
    carrier_losses_[static_cast<std::size_t>(node)] = 0;
    const auto gone = std::erase_if(
        changes_, [&](const LinkChange& change) { return change.from == node || change.to == node; });
    if (gone == 0) return;
    ++version_;
    machine_.links_changed(nullptr);
}

bool Network::up(int node) const {
    if (!disturbed() || machine_.settings.nodes < 2) return true;
    for (int other = 0; other < machine_.settings.nodes; ++other) {
        if (other != node && !(state(node, other).down && state(other, node).down)) return true;
    }
    return false;
}

}  // namespace deadrank::sim
