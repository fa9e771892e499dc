// sim/network.cpp — Changes are kept as patterns and folded when asked: a cluster of thousands of nodes has
// millions of pairs.
#include "sim/network.h"

#include <algorithm>

#include "sim/machine.h"

namespace deadrank::sim {

namespace {

constexpr std::int64_t packet_bytes = 4096;
constexpr std::int64_t resent_window = 64 << 10;  // a go-back-N sender repeats about that much for each loss
constexpr std::int64_t billion = 1'000'000'000;

bool covers(const LinkChange& change, int from, int to) {
    const auto fits = [&](int a, int b) {
        return (change.from < 0 || change.from == a) && (change.to < 0 || change.to == b);
    };
    const bool within = change.from >= 0 && change.from == change.to;
    if (within != (from == to)) return false;
    return fits(from, to) || (!change.one_way && fits(to, from));
}

template <class T>
void take(std::optional<T>& into, const std::optional<T>& from) {
    if (from) into = from;
}

}  // namespace

Network::Network(Machine& machine)
    : machine_(machine), ports_(static_cast<std::size_t>(machine.settings.nodes)) {}

LinkState Network::state(int from, int to) const {
    LinkState state;
    for (const LinkChange& change : changes_) {
        if (!covers(change, from, to)) continue;
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
    LinkChange merged = change;
    const auto same = std::find_if(changes_.begin(), changes_.end(), [&](const LinkChange& known) {
        return known.from == change.from && known.to == change.to && known.one_way == change.one_way;
    });
    if (same != changes_.end()) {
        merged = *same;
        changes_.erase(same);
        take(merged.down, change.down);
        take(merged.bandwidth_permille, change.bandwidth_permille);
        take(merged.extra_latency, change.extra_latency);
        take(merged.loss_ppb, change.loss_ppb);
    }
    changes_.push_back(merged);
    // A port counts its own going down; a break further on, between switches, it does not feel.
    for (const int node : were_up) {
        if (!up(node)) ++ports(node).errors;
    }
    machine_.communicators.links_changed(change.reset && change.down.value_or(false) ? &change : nullptr);
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
    const std::int64_t loss = state(hop.from, hop.to).loss_ppb;
    if (loss <= 0 || loss >= billion) return 0;
    const std::int64_t packets = (bytes + packet_bytes - 1) / packet_bytes;
    __extension__ typedef __int128 Wide;
    return static_cast<std::int64_t>((Wide{packets} * loss + billion - loss - 1) / (billion - loss));
}

Time loss_penalty(const Hop& hop, std::int64_t retransmits) {
    return retransmits * (2 * hop.latency + time_of(resent_window, hop.bandwidth));
}

void Network::count(int from, int to, std::int64_t bytes, std::int64_t resent) {
    if (from == to) return;
    ports(from).sent += bytes;
    ports(to).received += bytes;
    ports(from).retransmits += resent;
}

bool Network::up(int node) const {
    if (!disturbed() || machine_.settings.nodes < 2) return true;
    for (int other = 0; other < machine_.settings.nodes; ++other) {
        if (other != node && !(state(node, other).down && state(other, node).down)) return true;
    }
    return false;
}

}  // namespace deadrank::sim
