// sim/collectives/bootstrap_checks.cpp — What the root and the members notice once they meet, and what they
// do not. Facts: NCCL 2.18 to 2.30, run against stock and self-built libraries; layouts of the messages
// differ between releases, so skew shows in three ways.
#include <algorithm>
#include <fmt/format.h>
#include <tuple>

#include "sim/collectives/bootstrap.h"
#include "sim/collectives/fabric.h"
#include "sim/collectives/library_texts.h"

namespace deadrank::sim {

namespace {

// Bytes of the first message to the root, by release.
int root_message_bytes(int version) {
    if (version < 22300) return 64;
    return version < 22900 ? 172 : 176;
}

// The layout of what peers exchange changed in 2.27 and in 2.30.
int peer_layout(int version) {
    if (version < 22700) return 0;
    return version < 23000 ? 1 : 2;
}

constexpr int compares_versions_since = 22300;
constexpr Time handshake{30'000'000};
constexpr Time per_member{100'000};

}  // namespace

void Bootstrap::check_in(Process& process, Gathering& met, Rank place, std::size_t size) {
    if (met.processes.empty()) {
        met.processes.assign(size, results::no_rank);
    }
    if (met.state == Gathering::State::hung) {
        met.refused_ranks.push_back(process.id);
        return;
    }
    if (met.processes.size() != size) {
        warn_root(
            met, "bootstrap.cc:327",
            fmt::format(
                "Bootstrap Root : mismatch in info from procs, nranks {} vs {}, nroots 1 vs 1, iroot 0 vs 0",
                met.processes.size(), size));
        met.state = Gathering::State::hung;
        met.refused_ranks.push_back(process.id);
        return;
    }
    Rank& seat = met.processes[static_cast<std::size_t>(place)];
    if (seat != results::no_rank) {
        warn_root(met, "bootstrap.cc:334",
                  fmt::format("Bootstrap Root : rank {} of {} ranks has already checked in", place, size));
        met.state = Gathering::State::hung;
        met.refused_ranks.push_back(process.id);
        return;
    }
    seat = process.id;
    if ((met.came += process.weight) < static_cast<Rank>(size)) return;
    met.state = Gathering::State::deciding;
    const Time cost = handshake + per_member * static_cast<std::int64_t>(size);
    std::shared_ptr<Gathering> kept;
    for (const auto& open : open_) {
        if (open.get() == &met) kept = open;
    }
    machine_.engine.call_after(cost, {nobody, met.id, "comm_init"}, [this, kept] {
        if (kept->state != Gathering::State::deciding) return;
        decide(*kept);
        for (const Rank member : kept->processes) {
            if (member != results::no_rank) machine_.engine.wake(static_cast<ActorId>(member));
        }
    });
}

bool Bootstrap::decide_by_version(Gathering& met) {
    const int root = met.members.front().settings->version;
    for (const Gathering::Member& member : met.members) {
        const int version = member.settings->version;
        const int expected = root_message_bytes(root), sent = root_message_bytes(version);
        if (sent != expected) {
            const bool garbled = expected == 176;
            warn_root(
                met, garbled ? "misc/utils.cc:32" : "bootstrap.cc:222",
                garbled ? std::string("Failed to malloc -107080580992 bytes")
                        : fmt::format("Message truncated : received {} bytes instead of {}", sent, expected));
            met.state = Gathering::State::hung;
            return true;
        }
        if (peer_layout(version) != peer_layout(root)) {
            fail_all(met, Code::internal_error,
                     fmt::format("Message truncated : received {} bytes instead of {}",
                                 64 * (2 + peer_layout(version)), 64 * (2 + peer_layout(root))));
            return true;
        }
        if (version != root && version >= compares_versions_since) {
            fail_all(met, Code::invalid_usage,
                     fmt::format("Mismatched NCCL version detected : rank {} version {} rank 0 version {}",
                                 member.place, version, root));
            return true;
        }
    }
    return false;
}

// A node whose ports are closed to the others; a GID that leads nowhere, which both ends try for as long.
bool Bootstrap::decide_by_ports(Gathering& met) {
    constexpr Time all_tries{59'500'000'000};
    const auto& members = met.members;
    const int first = members.front().process->node;
    const bool spans_nodes = std::any_of(members.begin(), members.end(),
                                         [&](const auto& member) { return member.process->node != first; });
    if (!spans_nodes) return false;
    for (const Gathering::Member& member : members) {
        const results::Firewall firewall = machine_.hosts[member.process->node].firewall;
        const std::string host = machine_.topology.host_name(member.process->node);
        if (firewall == results::Firewall::drops) met.state = Gathering::State::hung;
        if (firewall == results::Firewall::drops) return true;
        if (firewall == results::Firewall::open) continue;
        met.after = all_tries;
        if (met.over_gloo)
            met.raises = fmt::format(
                "RuntimeError: Gloo connectFullMesh failed with "
                "[../third_party/gloo/gloo/transport/tcp/pair.cc:144] "
                "no error: SO_ERROR: No route to host, remote=[{}]:41743",
                host);
        fail_all(
            met, Code::system_error,
            fmt::format("socketPollConnect: connect to {}<41743> returned No route to host, exceeded error "
                        "retry count after 35 attempts",
                        host));
        return true;
    }
    const bool rdma = !met.over_gloo && machine_.settings.gid_index >= 0;
    for (const Gathering::Member& member : members) {
        const NcclSettings& settings = *member.settings;
        if (!rdma || settings.socket_transport || settings.gid_index < 0) continue;
        if (settings.gid_index == machine_.settings.gid_index) continue;
        fail_all(met, Code::system_error, "Call to ibv_modify_qp failed with error Connection timed out");
        return true;
    }
    return false;
}

// gloo: a peer on another node connects to the loopback of its own, where nobody listens, and is refused at
// once; the rank that gave that address away loses its peers.
bool Bootstrap::decide_by_loopback(Gathering& met) {
    const auto& members = met.members;
    const auto refused_by = [&](const Gathering::Member& member) -> const Gathering::Member* {
        const auto peer = std::find_if(members.begin(), members.end(), [&](const Gathering::Member& one) {
            return !one.settings->loopback.empty() && one.process->node != member.process->node;
        });
        return peer == members.end() ? nullptr : &*peer;
    };
    for (const Gathering::Member& member : members) {
        const Gathering::Member* const peer = refused_by(member);
        if (!peer) continue;
        const std::string& address = peer->settings->loopback;
        fail_all(met, Code::system_error, fmt::format("connect [{}]:41743: Connection refused", address));
        met.raises = fmt::format(
            "RuntimeError: Gloo connectFullMesh failed with "
            "[../third_party/gloo/gloo/transport/tcp/pair.cc:144] no error: SO_ERROR: "
            "Connection refused, remote=[{}]:41743",
            address);
        const std::string host = machine_.topology.host_name(member.process->node);
        for (const Gathering::Member& one : members) {
            if (!refused_by(one)) met.closed[one.process->id] = gloo_closed_text(host);
        }
        return true;
    }
    return false;
}

void Bootstrap::decide(Gathering& met) {
    met.members.clear();
    for (Rank place = 0; place < static_cast<Rank>(met.processes.size()); ++place) {
        const Rank process = met.processes[static_cast<std::size_t>(place)];
        if (process == results::no_rank) continue;
        met.members.push_back({place, &machine_.processes[process], &settings_of(process, met.over_gloo)});
    }
    if (decide_by_version(met) || decide_by_ports(met) || decide_by_loopback(met)) return;
    const std::vector<Gathering::Member>& members = met.members;
    const auto any = [&](auto holds) { return std::any_of(members.begin(), members.end(), holds); };
    const auto differs = [&](auto field) {
        const auto& first = members.front().settings->*field;
        return any([&](const Gathering::Member& member) { return member.settings->*field != first; });
    };
    const int first_node = members.front().process->node;
    const bool spans_nodes =
        any([&](const Gathering::Member& member) { return member.process->node != first_node; });
    const bool unreachable =
        any([](const Gathering::Member& member) { return !member.settings->reaches_peers; });
    bool cut = false;
    for (std::size_t i = 0; i < members.size() && machine_.network.disturbed(); ++i) {
        const Process& mine = *members[i].process;
        const Process& next = *members[(i + 1) % members.size()].process;
        const Hop hop = machine_.topology.hop({mine.node, mine.local}, {next.node, next.local});
        cut |= machine_.network.now(hop).bandwidth == 0;
    }
    // Each of these leaves a member without an answer: a wrong root, an address out of reach, two kinds of
    // network.
    if (differs(&NcclSettings::root_address) || (spans_nodes && unreachable) || cut ||
        (spans_nodes && differs(&NcclSettings::socket_transport))) {
        met.state = Gathering::State::hung;
        return;
    }
    std::vector<std::tuple<int, int, std::size_t>> devices;
    for (std::size_t i = 0; i < members.size(); ++i)
        devices.emplace_back(members[i].process->node, members[i].process->device, i);
    std::sort(devices.begin(), devices.end());
    const bool one_each = !met.over_gloo;  // gloo does not ask
    for (std::size_t i = 1; i < devices.size() && one_each; ++i) {
        const auto& [node, device, place] = devices[i];
        const auto& [other_node, other_device, other_place] = devices[i - 1];
        if (node != other_node || device != other_device) continue;
        return fail_all(met, Code::invalid_usage,
                        fmt::format("Duplicate GPU detected : rank {} and rank {} both on CUDA device {:x}",
                                    other_place, place, machine_.devices.bus_id(device)));
    }
    if (differs(&NcclSettings::channels_max)) {
        return fail_all(met, Code::internal_error, "Message truncated : received 1024 bytes instead of 512");
    }
    succeed(met);
}

void Bootstrap::fail_all(Gathering& met, Code code, std::string text) {
    met.state = Gathering::State::failed;
    met.code = code;
    met.text = std::move(text);
}

void Bootstrap::succeed(Gathering& met) {
    constexpr std::int64_t socket_permille = 400;  // TCP although the link is sized for RDMA
    met.comm = &machine_.communicators.add(met.id, met.name, std::move(met.ranks), met.processes);
    met.comm->set_over_gloo(met.over_gloo);
    met.comm->set_meeting(met.meeting);
    bool all_detail = true, some_detail = false, spans_nodes = false;
    Transport transport;
    for (const Gathering::Member& member : met.members) {
        met.comm->member(member.place).algorithm = member.settings->algorithm;
        met.comm->member(member.place).network_chunk = member.settings->network_chunk;
        const bool detail = wants_detail(*member.process);
        all_detail &= detail;
        some_detail |= detail;
        spans_nodes |= member.process->node != met.members.front().process->node;
        transport.add(*member.settings, member.process->node, machine_.settings.link_bandwidth);
        const int card = member.process->card;
        if (card == machine_.topology.card_of(member.process->local) || met.comm->has_crowd()) continue;
        transport.cards.resize(met.processes.size(), -1);
        transport.cards[static_cast<std::size_t>(member.place)] = card;
    }
    met.comm->set_detail(all_detail);
    met.some_detail = some_detail && !all_detail;
    const NcclSettings& first = *met.members.front().settings;
    transport.sockets = first.socket_transport;
    if (first.socket_transport && machine_.settings.rdma) transport.permille = socket_permille;
    met.comm->use(std::move(transport));
    met.text = spans_nodes ? first.transport() : first.transport_inside();
    met.state = Gathering::State::ready;
}

}  // namespace deadrank::sim
