// sim/collectives/p2p.cpp — Matching by order, moving over one hop, and what a receiver meets whose size is
// not the sender's.
#include "sim/collectives/p2p.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "sim/collectives/byte_offer.h"
#include "sim/collectives/communicator.h"
#include "sim/collectives/dtype_bits.h"
#include "sim/collectives/fabric.h"
#include "sim/collectives/library_texts.h"

namespace deadrank::sim {

namespace {

std::int64_t message_bytes(const P2pCall& call) { return call.count * results::size_of(call.dtype); }

}  // namespace

void P2pCall::keep_data() {
    if (is_send && in && !partner) {
        payload.assign(in, in + size);
        in = payload.data();
    }
    if (is_send && !partner) {
        byte_payload.assign(bytes_in.begin(), bytes_in.end());
        bytes_in = byte_payload;
    }
    out = nullptr;
    bytes_out = {};
}

void P2pBoard::adopt(std::unique_ptr<P2pCall> call) {
    std::erase_if(orphans_, [](const auto& earlier) { return earlier->done; });
    call->keep_data();
    orphans_.push_back(std::move(call));
}

void P2pBoard::post(P2pCall& call) {
    if (waiting_.empty()) waiting_.resize(static_cast<std::size_t>(comm_.size()));
    call.entered = machine_.engine.now();
    call.held = waits_for_batch(call);
    if (call.batch > 0) batched_.push_back(&call);
    if (!call.held) launch(call);
    if (call.peer() != any_source && comm_.member(call.peer()).gone)
        comm_.lose_peer(call.caller(), call.peer());
    machine_.watchdog.entered(machine_.processes[comm_.member(call.caller()).process],
                              comm_.call_timeout(call.caller()));
}

// A kernel follows the one before it on its stream.
bool P2pBoard::waits_for_batch(const P2pCall& call) const {
    return call.batch > 0 && std::any_of(batched_.begin(), batched_.end(), [&](const P2pCall* other) {
               return other->caller() == call.caller() && other->batch < call.batch;
           });
}

// After a call of its batch has ended: where that was the last one, the next batch begins.
void P2pBoard::start_next_batch(Rank caller) {
    std::erase_if(batched_, [](const P2pCall* call) { return call->done; });
    for (P2pCall* call : std::vector<P2pCall*>(batched_)) {
        if (!call->held || call->caller() != caller || waits_for_batch(*call)) continue;
        call->held = false;
        launch(*call);
    }
}

// Gloo matches tags; NCCL has none.
bool P2pBoard::tags_match(const P2pCall& call, const P2pCall& other) const {
    return !comm_.over_gloo() || !call.is_bytes || call.tag == other.tag;
}

void P2pBoard::launch(P2pCall& call) {
    std::vector<P2pCall*>& list = waiting_[static_cast<std::size_t>(call.to)];
    const auto fits = [&](const P2pCall* other) {
        if (other->is_send == call.is_send || !tags_match(call, *other)) return false;
        return other->from == call.from || other->from == any_source ||
               (call.from == any_source && !other->stuck);
    };
    const auto other = std::find_if(list.begin(), list.end(), fits);
    // Two of a kind between the same ranks queue up; a hung kernel holds up all behind it.
    const bool first = std::none_of(list.begin(), list.end(), [&](const P2pCall* earlier) {
        return earlier->from == call.from && earlier->is_send == call.is_send && tags_match(call, *earlier);
    });
    if (other == list.end() || !first || call.stuck || (*other)->stuck || broken_) {
        list.push_back(&call);
    } else {
        P2pCall& found = **other;
        list.erase(other);
        (call.is_send ? found : call).from = call.is_send ? call.from : found.from;
        call.is_send ? match(call, found) : match(found, call);
    }
}

void P2pBoard::match(P2pCall& send, P2pCall& receive) {
    send.partner = &receive;
    receive.partner = &send;
    receive.arriving = message_bytes(send);
    if (send.is_bytes) {
        receive.byte_payload.assign(send.bytes_in.begin(), send.bytes_in.end());
        const auto element =
            static_cast<std::size_t>(std::max<std::int64_t>(1, results::size_of(send.dtype)));
        if (send.flip_bit >= 0) flip_bit_of(receive.byte_payload, element, send.flip_bit);
        return depart(receive);
    }
    const std::int64_t visible = std::min(send.count, std::max(send.size, receive.size));
    receive.payload.assign(static_cast<std::size_t>(visible), 0);
    std::copy_n(send.in, std::min(visible, send.size), receive.payload.begin());
    if (send.flip_bit >= 0 && send.flip_bit / 64 < visible) {
        Number& value = receive.payload[static_cast<std::size_t>(send.flip_bit / 64)];
        value =
            static_cast<Number>(static_cast<std::uint64_t>(value) ^ std::uint64_t{1} << send.flip_bit % 64);
    }
    for (Number& value : receive.payload) {
        if (send.dtype != receive.dtype) value = decode(encode(value, send.dtype), receive.dtype);
    }
    depart(receive);
}

void P2pBoard::depart(P2pCall& receive) {
    if (comm_.never_ends(receive.from, receive.to)) return mark_dead(receive);
    if (const std::string problem = comm_.access_problem(receive.from, receive.to); !problem.empty()) {
        broken_ = true;
        mark_dead(receive);
        return comm_.async_error(receive.from, Code::remote_error, problem);
    }
    moving_.push_back(&receive);
    const Hop hop = comm_.hop_between(receive.from, receive.to);
    if (hop.from == hop.to) return pace(receive);
    receive.out_port = comm_.port_of(receive.from);
    receive.in_port = comm_.port_of(receive.to);
    const Ports ports{{&receive.out_port, 1}, {&receive.in_port, 1}};
    const bool shared = machine_.network.take(ports);
    pace(receive);
    if (shared) machine_.communicators.shares_changed(ports);
}

void P2pBoard::arrive(P2pCall& receive) {
    forget(moving_, receive);
    if (receive.out_port < 0) return;
    const int out = std::exchange(receive.out_port, -1), in = receive.in_port;
    const Ports ports{{&out, 1}, {&in, 1}};
    if (machine_.network.release(ports)) machine_.communicators.shares_changed(ports);
}

void P2pBoard::pace(P2pCall& receive) {
    Hop hop = comm_.hop_between(receive.from, receive.to);
    if (receive.out_port >= 0) hop.bandwidth /= machine_.network.sharers(receive.out_port, receive.in_port);
    const bool still = comm_.stands_still(receive.from, receive.to);
    const std::int64_t bytes = message_bytes(receive);
    machine_.engine.cancel(receive.movement.timer);
    const Cause cause{nobody, comm_.id() ^ static_cast<std::uint64_t>(receive.seq) << 20, "p2p"};
    if (hop.bandwidth == 0 || still) {
        receive.movement.advance(machine_.engine.now(), results::never);
        if (hop.bandwidth > 0) return;
        const Time patience =
            machine_.bootstrap.settings_of(comm_.member(receive.from).process, comm_.over_gloo()).retry_window();
        if (patience == results::never) return;
        receive.movement.timer =
            machine_.engine.call_after(patience, cause, [this, &receive] { give_up(receive); });
        return;
    }
    const Time whole = kernel_launch + hop.latency + time_of(bytes, hop.bandwidth) +
                       loss_penalty(hop, machine_.network.retransmits(hop, bytes));
    const Time left = receive.movement.advance(machine_.engine.now(), whole);
    receive.movement.timer = machine_.engine.call_after(left, cause, [this, &receive] { finish(receive); });
}

void P2pBoard::finish(P2pCall& receive) {
    arrive(receive);
    P2pCall* send = receive.partner;
    const Hop hop = comm_.hop_between(receive.from, receive.to);
    const std::int64_t sent = receive.arriving;
    machine_.network.count(hop.from, hop.to, sent, machine_.network.retransmits(hop, sent));
    if (send) {
        send->done = true;
        send->partner = nullptr;
        machine_.engine.wake(static_cast<ActorId>(comm_.member(receive.from).process));
    }
    receive.partner = nullptr;
    if (sent != message_bytes(receive)) {
        receive.dead = true;
        stalled_.push_back(&receive);
        comm_.async_error(
            receive.to, Code::internal_error,
            fmt::format("Message truncated : received {} bytes instead of {}", sent, message_bytes(receive)));
        if (!batched_.empty()) start_next_batch(receive.from);
        return;
    }
    const auto landed =
        std::min({receive.size, receive.count, static_cast<std::int64_t>(receive.payload.size())});
    if (receive.out) std::copy_n(receive.payload.begin(), landed, receive.out);
    std::copy_n(receive.byte_payload.begin(), std::min(receive.byte_payload.size(), receive.bytes_out.size()),
                receive.bytes_out.begin());
    if (receive.out && receive.flip_bit >= 0 && receive.flip_bit / 64 < landed) {
        Number& value = receive.out[receive.flip_bit / 64];
        value = static_cast<Number>(static_cast<std::uint64_t>(value) ^ std::uint64_t{1}
                                                                            << receive.flip_bit % 64);
    }
    receive.done = true;
    machine_.engine.wake(static_cast<ActorId>(comm_.member(receive.to).process));
    if (batched_.empty()) return;
    const Rank from = receive.from, to = receive.to;
    start_next_batch(from);
    start_next_batch(to);
}

void P2pBoard::give_up(P2pCall& receive) {
    arrive(receive);
    broken_ = true;
    mark_dead(receive);
    comm_.async_error(receive.from, Code::remote_error,
                      retries_exceeded_text(machine_.topology.host_name(
                          machine_.processes[comm_.member(receive.to).process].node)));
}

// A pair that will never end; both are kept, to show what has been pending for so long.
void P2pBoard::mark_dead(P2pCall& receive) {
    for (P2pCall* call : {&receive, receive.partner}) {
        if (!call) continue;
        call->dead = true;
        stalled_.push_back(call);
    }
}

void P2pBoard::withdraw(P2pCall& call) {
    forget(stalled_, call);
    forget(batched_, call);
    if (!waiting_.empty()) forget(waiting_[static_cast<std::size_t>(call.to)], call);
    P2pCall* other = std::exchange(call.partner, nullptr);
    P2pCall& receive = call.is_send && other ? *other : call;
    machine_.engine.cancel(receive.movement.timer);
    arrive(receive);
    if (!other) return;
    other->partner = nullptr;
    if (other->dead) return;
    other->dead = true;
    stalled_.push_back(other);
}

void P2pBoard::links_changed() {
    for (P2pCall* receive : std::vector<P2pCall*>(moving_)) pace(*receive);
}

void P2pBoard::shares_changed(const Ports& ports) {
    const auto uses = [](int port, std::span<const int> some) {
        return std::find(some.begin(), some.end(), port) != some.end();
    };
    for (P2pCall* receive : moving_) {
        if (receive->out_port < 0) continue;
        if (uses(receive->out_port, ports.out) || uses(receive->in_port, ports.in)) pace(*receive);
    }
}

void P2pBoard::member_gone(Rank index) {
    for (P2pCall* receive : std::vector<P2pCall*>(moving_)) {
        if (receive->from != index && receive->to != index) continue;
        machine_.engine.cancel(receive->movement.timer);
        arrive(*receive);
        mark_dead(*receive);
    }
    for (auto& list : waiting_) {
        std::erase_if(list, [&](const P2pCall* call) { return call->caller() == index; });
    }
    std::erase_if(batched_, [&](const P2pCall* call) { return call->caller() == index; });
}

bool P2pBoard::waits_for(Rank caller, Rank peer) const {
    const auto does = [&](const P2pCall* call) {
        return call->caller() == caller && call->peer() == peer && !call->done;
    };
    for (const auto& list : waiting_) {
        if (std::any_of(list.begin(), list.end(), does)) return true;
    }
    if (std::any_of(batched_.begin(), batched_.end(), does)) return true;
    return std::any_of(stalled_.begin(), stalled_.end(), does);
}

const P2pCall* P2pBoard::oldest_pending(Rank caller) const {
    const P2pCall* oldest = nullptr;
    const auto look = [&](const P2pCall* call) {
        if (call->caller() != caller || call->done) return;
        if (!oldest || call->entered < oldest->entered) oldest = call;
    };
    for (const P2pCall* receive : moving_) {
        look(receive);
        if (receive->partner) look(receive->partner);
    }
    for (const P2pCall* call : stalled_) look(call);
    for (const P2pCall* call : batched_) look(call);
    for (const auto& list : waiting_) {
        for (const P2pCall* call : list) look(call);
    }
    return oldest;
}

void P2pBoard::forget(std::vector<P2pCall*>& list, const P2pCall& call) { std::erase(list, &call); }

}  // namespace deadrank::sim
