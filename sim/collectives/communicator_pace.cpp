// sim/collectives/communicator_pace.cpp — How long a collective takes: in closed form while nothing is
// disturbed, chunk by chunk as soon as something is, and as a whole where there would be too many
// chunks.
#include <algorithm>
#include <utility>

#include "sim/collectives/communicator.h"
#include "sim/collectives/fabric.h"
#include "sim/collectives/library_texts.h"

namespace deadrank::sim {

namespace {

constexpr std::int64_t most_messages = 1 << 22;

Cause cause_of(results::CommId id, std::int64_t seq) {
    return {nobody, id ^ static_cast<std::uint64_t>(seq) << 20, "collective"};
}

PortShare share_of(const LinkConditions& conditions, int port) {
    const auto found =
        std::lower_bound(conditions.shared.begin(), conditions.shared.end(), port,
                         [](const PortShare& share, int wanted) { return share.port < wanted; });
    return found != conditions.shared.end() && found->port == port ? *found : PortShare{};
}

bool among(const std::vector<Rank>& places, Rank place) {
    return std::binary_search(places.begin(), places.end(), place);
}

}  // namespace

// What the links between two members were, since the collective started.
struct Communicator::HistoryOfLinks final : Links {
    HistoryOfLinks(const Communicator& of, const PendingCollective& met) : comm(of), pending(met) {}

    LinkHistory between(Rank from, Rank to) const override {
        const Hop hop = comm.usual_hop(from, to);
        const int out = comm.port_of(from), in = comm.port_of(to);
        LinkHistory history;
        bool usual = true;
        for (const LinkConditions& conditions : pending.met) {
            LinkPhase phase{.since = conditions.since - pending.started, .bandwidth = hop.bandwidth};
            phase.latency = hop.latency;
            const LinkState link = state_under(conditions.links, hop.from, hop.to);
            usual &= link.healthy();
            phase.down = link.down || link.bandwidth_permille <= 0;
            phase.loss_ppb = link.loss_ppb;
            phase.extra_latency = link.extra_latency;
            phase.latency += link.extra_latency;
            if (!link.healthy())
                phase.bandwidth =
                    phase.down ? 0
                               : std::max<std::int64_t>(1, hop.bandwidth / 1000 * link.bandwidth_permille);
            if (hop.from != hop.to) {
                const int users = std::max(share_of(conditions, out).out, share_of(conditions, in).in);
                const bool still = among(conditions.stopped, from) || among(conditions.stopped, to);
                usual &= users == 1 && !still;
                phase.bandwidth = still ? 0 : phase.bandwidth / users;
            }
            history.push_back(phase);
        }
        if (usual) history.clear();
        return history;
    }

    const Communicator& comm;
    const PendingCollective& pending;
};

Course Communicator::course_of(const PendingCollective& pending) {
    const Offer& offer = pending.offers.front();
    const std::int64_t bytes = bytes_of(offer);
    return {offer.op, bytes, offer.root, algorithm_for(offer.op, bytes, ring_, member(0).algorithm), ring_};
}

LinkConditions Communicator::conditions() const {
    const Network& network = machine_.network;
    LinkConditions now{.since = machine_.engine.now()};
    if (network.touches(nodes_)) {
        now.version = network.version();
        now.links = network.changes();
    }
    const auto look = [&](int port) {
        const PortShare share{port, std::max(1, network.leaving_by(port)),
                              std::max(1, network.entering_by(port))};
        if (share.out > 1 || share.in > 1) now.shared.push_back(share);
    };
    for (const int port : ports_out_) look(port);
    for (const int port : ports_in_)
        if (!std::binary_search(ports_out_.begin(), ports_out_.end(), port)) look(port);
    std::sort(now.shared.begin(), now.shared.end(),
              [](const PortShare& a, const PortShare& b) { return a.port < b.port; });
    if (machine_.processes.any_stopped() && nodes_.size() > 1) {
        for (const Member& member : members_)
            if (machine_.processes[member.process].stopped) now.stopped.push_back(member.place);
    }
    return now;
}

void Communicator::start(PendingCollective& pending) {
    pending.state = PendingCollective::State::moving;
    pending.started = machine_.engine.now();
    const Ports ports{ports_out_, ports_in_};
    const bool shared = machine_.network.take(ports);
    pace(pending);
    if (shared) machine_.communicators.shares_changed(ports);
}

void Communicator::release_ports() {
    const Ports ports{ports_out_, ports_in_};
    if (machine_.network.release(ports)) machine_.communicators.shares_changed(ports);
}

void Communicator::halt(PendingCollective& pending) {
    machine_.engine.cancel(pending.movement.timer);
    pending.state = PendingCollective::State::never_completes;
    release_ports();
}

// Sets, or sets anew, when a member leaves the collective.
void Communicator::pace(PendingCollective& pending) {
    const Course course = course_of(pending);
    if (has_crowd() || messages_of(course) > most_messages) return pace_uniformly(pending, course);
    LinkConditions now = conditions();
    if (pending.met.empty()) {
        if (now.usual()) {
            if (pending.ends.empty() && pending.movement.under_way) return;
            const Time whole = collective_time(course.op, course.bytes, course.ring, course.algorithm);
            pending.movement.under_way = true;
            pending.movement.timer = machine_.engine.call_after(whole, cause_of(id_, pending.seq),
                                                                [this, seq = pending.seq] { finish(seq); });
            return;
        }
        pending.met.push_back({.since = pending.started});
    }
    LinkConditions& last = pending.met.back();
    if (last.since == now.since) {
        last = std::move(now);
    } else if (last.same_as(now)) {
        return;
    } else {
        pending.met.push_back(std::move(now));
    }
    pace_by_chunks(pending, course);
}

void Communicator::pace_by_chunks(PendingCollective& pending, const Course& course) {
    const bool steady = pending.met.size() == 1;
    if (!steady || !played_.is(course, pending.met.front())) {
        played_ = {course, steady, pending.met.front(), play_out(course, HistoryOfLinks(*this, pending))};
        machine_.engine.effort().messages += played_.played.messages;
    }
    const PlayoutResult& played = played_.played;
    pending.ends = played.ends;
    pending.stalled = played.stalled;
    pending.towards = played.towards;
    if (played.stalled < 0) {
        pending.gives_up = results::never;
    } else if (pending.gives_up == results::never) {
        const Rank sender = member(played.stalled).process;
        const Time patience = machine_.bootstrap.settings_of(sender, over_gloo()).retry_window();
        if (patience != results::never) pending.gives_up = machine_.engine.now() + patience;
    }
    set_timer(pending);
}

void Communicator::set_timer(PendingCollective& pending) {
    Time next = pending.gives_up;
    for (const Offer& offer : pending.offers) {
        const Time end = pending.ends[static_cast<std::size_t>(offer.place)];
        if (!offer.left && end != results::never) next = std::min(next, pending.started + end);
    }
    machine_.engine.cancel(pending.movement.timer);
    pending.movement.under_way = true;
    if (next == results::never) return;
    pending.movement.timer =
        machine_.engine.call_at(std::max(next, machine_.engine.now()), cause_of(id_, pending.seq),
                                [this, seq = pending.seq] { go_on(seq); });
}

void Communicator::go_on(std::int64_t seq) {
    PendingCollective& pending = *open_.front();
    const Time passed = machine_.engine.now() - pending.started;
    bool all = true;
    for (std::size_t slot = 0; slot < members_.size(); ++slot) {
        if (pending.ends[slot] <= passed) leave(pending, slot);
        all &= pending.offers[slot].left;
    }
    if (all) return finish(seq);
    if (machine_.engine.now() >= pending.gives_up) return break_after_retries(seq);
    set_timer(pending);
}

// While a hop is down nothing moves, until the sender's retries run out.
void Communicator::pace_uniformly(PendingCollective& pending, const Course& course) {
    if (pending.movement.under_way && !machine_.network.disturbed()) return;
    Time whole = collective_time(course.op, course.bytes, ring_now(nullptr), member(0).algorithm);
    if (whole != results::never && machine_.network.disturbed()) {
        const std::int64_t bytes = bytes_per_hop(course.op, course.bytes, size());
        for (Rank i = 0; i < size() && size() > 1; ++i) {
            const Hop hop = hop_between(i, (i + 1) % size());
            whole += loss_penalty(hop, machine_.network.retransmits(hop, bytes));
        }
    }
    machine_.engine.cancel(pending.movement.timer);
    const Time left = pending.movement.advance(machine_.engine.now(), whole);
    if (left != results::never) {
        pending.movement.timer = machine_.engine.call_after(left, cause_of(id_, pending.seq),
                                                            [this, seq = pending.seq] { finish(seq); });
        return;
    }
    ring_now(&pending.stalled);
    pending.towards = (pending.stalled + 1) % size();
    const Rank sender = member(pending.stalled).process;
    const Time patience = machine_.bootstrap.settings_of(sender, over_gloo()).retry_window();
    if (patience == results::never) return;
    pending.movement.timer = machine_.engine.call_after(
        patience, cause_of(id_, pending.seq), [this, seq = pending.seq] { break_after_retries(seq); });
}

void Communicator::break_after_retries(std::int64_t seq) {
    PendingCollective* stalled = pending(seq);
    if (!stalled || stalled->state != PendingCollective::State::moving || stalled->stalled < 0) return;
    broken_ = true;
    halt(*stalled);
    const Process& peer = machine_.processes[member(stalled->towards).process];
    async_error(stalled->stalled, Code::remote_error,
                retries_exceeded_text(machine_.topology.host_name(peer.node)));
}

}  // namespace deadrank::sim
