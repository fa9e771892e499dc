// sim/collectives/communicator.cpp — A collective starts when all have come and the one before it is over,
// and ends for all at one time.
#include "sim/collectives/communicator.h"

#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "results/record/event_names.h"
#include "scenarios/model/error.h"
#include "sim/collectives/byte_offer.h"
#include "sim/collectives/fabric.h"
#include "sim/collectives/library_texts.h"
#include "sim/collectives/work.h"

namespace deadrank::sim {

Time Communicator::call_timeout(Rank index) const {
    const auto own = timeouts_.find(index);
    return own == timeouts_.end() ? machine_.settings.collective_timeout : own->second;
}

Communicator::Communicator(Fabric& machine, results::CommId id, std::string name, std::vector<Rank> ranks,
                           std::vector<Rank> processes)
    : machine_(machine),
      id_(id),
      name_(std::move(name)),
      ranks_(std::move(ranks)),
      members_(machine.engine.effort()),
      p2p_(machine, *this) {
    for (Rank place = 0; place < size(); ++place) {
        const Rank process = processes[static_cast<std::size_t>(place)];
        if (process == results::no_rank) continue;
        Member& member = members_.emplace_back();
        member.process = process;
        member.place = place;
        member.weight = machine_.processes[process].weight;
        if (member.weight > 1) crowd_ = members_.size() - 1;
    }
    ring_.size = size();
    for (Rank i = 0; i < size() && size() > 1; ++i) {
        const Hop hop = machine_.topology.hop(place_of(i), place_of((i + 1) % size()));
        ring_.add(hop);
        if (hop.from != hop.to) nodes_out_.insert(nodes_out_.end(), {hop.from, hop.to});
    }
    if (!has_crowd()) find_ports();
}

std::size_t Communicator::slot_of(Rank place) const {
    if (!has_crowd()) return static_cast<std::size_t>(place);
    const auto found = std::lower_bound(members_.begin(), members_.end(), place,
                                        [](const Member& member, Rank at) { return member.place < at; });
    return found != members_.end() && found->place == place
               ? static_cast<std::size_t>(found - members_.begin())
               : crowd_;
}

std::int64_t Communicator::enter(Rank index, const Offer& offer) {
    Member& caller = member(index);
    PendingCollective& pending = open(++caller.called);
    Offer& mine = this->offer(pending, index);
    mine = offer;
    mine.place = index;
    mine.weight = caller.weight;
    mine.arrived = true;
    mine.entered = machine_.engine.now();
    pending.spoiled |= mine.stuck;
    if (pending.gone >= 0) lose_peer(index, pending.gone);
    if ((pending.arrived += mine.weight) == size()) try_start();
    machine_.watchdog.entered(machine_.processes[caller.process], call_timeout(index));
    return caller.called;
}

// A kernel goes on when its caller does not wait for it. What it was to send is copied as long as it was not
// read yet; what it receives reaches nobody.
void Communicator::withdraw(Rank index, std::int64_t seq, bool data_is_there) {
    PendingCollective* open = pending(seq);
    if (!open) return;
    Offer& offer = this->offer(*open, index);
    if (open->state == PendingCollective::State::gathering && !offer.gone && offer.in) {
        if (!data_is_there) offer.in_size = 0;
        offer.in = open->kept.emplace_back(offer.in, offer.in + offer.in_size).data();
    }
    if (offer.bytes) keep_bytes(*open, offer, data_is_there);
    offer.out = nullptr;
    offer.work = nullptr;
    offer.waiting = false;
}

PendingCollective* Communicator::pending(std::int64_t seq) {
    const std::int64_t at = seq - completed_ - 1;
    return at >= 0 && at < static_cast<std::int64_t>(open_.size()) ? open_[static_cast<std::size_t>(at)].get()
                                                                   : nullptr;
}

PendingCollective& Communicator::open(std::int64_t seq) {
    while (completed_ + static_cast<std::int64_t>(open_.size()) < seq) {
        std::unique_ptr<PendingCollective> fresh;
        if (spare_.empty()) {
            fresh = std::make_unique<PendingCollective>(machine_.engine.effort());
        } else {
            fresh = std::move(spare_.back());
            spare_.pop_back();
        }
        fresh->seq = completed_ + static_cast<std::int64_t>(open_.size()) + 1;
        fresh->arrived = 0;
        fresh->spoiled = false;
        fresh->gone = -1;
        fresh->state = PendingCollective::State::gathering;
        fresh->movement = {};
        fresh->met.clear();
        fresh->ends.clear();
        fresh->gives_up = results::never;
        fresh->stalled = -1;
        fresh->kept.clear();
        fresh->kept_bytes.clear();
        fresh->members = size();
        fresh->offers.clear();
        fresh->offers.reserve(members_.size());
        for (const Member& member : members_) {
            Offer& offer = fresh->offers.emplace_back();
            offer.place = member.place;
            offer.weight = member.weight;
            if (member.gone) fresh->lose(offer);
        }
        open_.push_back(std::move(fresh));
    }
    return *pending(seq);
}

void Communicator::try_start() {
    if (open_.empty()) return;
    PendingCollective& front = *open_.front();
    if (front.state != PendingCollective::State::gathering || front.arrived < size()) return;
    const Offer& first = front.offers.front();
    const bool fitting =
        std::all_of(front.offers.begin(), front.offers.end(), [&](const Offer& o) { return fits(first, o); });
    if (detail_ && differ_in_fingerprint(front)) {
        front.state = PendingCollective::State::failed;
        return wake_all();
    }
    // Kernels of different algorithms do not work together.
    const bool one_algorithm = std::all_of(members_.begin(), members_.end(), [&](const Member& m) {
        return m.algorithm == members_.front().algorithm;
    });
    if (front.spoiled || !fitting || (!over_gloo() && !parts_meet(front)) || !one_algorithm || broken_ ||
        !chunks_fit() || !cards_reach_devices() || !peers_reach_each_other()) {
        front.state = PendingCollective::State::never_completes;
        if (over_gloo() && !fitting) abort_shorter_messages(front);
        return;
    }
    compute(front);
    start(front);
}

// A receiver on another node that expects messages of another size reports it; no other member does.
bool Communicator::chunks_fit() {
    const bool alike = std::all_of(members_.begin(), members_.end(), [&](const Member& m) {
        return m.network_chunk == members_.front().network_chunk;
    });
    if (alike) return true;  // so that a crowd of a million is not asked one by one
    bool fit = true;
    for (Rank sender = 0; sender < size() && size() > 1; ++sender) {
        const Rank receiver = (sender + 1) % size();
        const std::int64_t sent = member(sender).network_chunk, expected = member(receiver).network_chunk;
        if (sent == expected || place_of(sender).node == place_of(receiver).node) continue;
        fit = false;
        const std::string peer = machine_.topology.host_name(place_of(sender).node);
        async_error(receiver, Code::invalid_usage,
                    wrong_chunk_text(peer, expected, sent, transport_.sockets));
    }
    return fit;
}

void Communicator::finish(std::int64_t seq) {
    CHECK(!open_.empty() && open_.front()->seq == seq);
    std::unique_ptr<PendingCollective> over = std::move(open_.front());
    open_.erase(open_.begin());
    completed_ = seq;
    release_ports();
    count_traffic(*over);
    for (std::size_t slot = 0; slot < members_.size(); ++slot) leave(*over, slot);
    if (spare_.size() < 4) spare_.push_back(std::move(over));
    try_start();
}

void Communicator::leave(PendingCollective& pending, std::size_t slot) {
    Offer& offer = pending.offers[slot];
    if (std::exchange(offer.left, true)) return;
    deliver(pending, offer);
    if (offer.work) offer.work->completed();
    const Member& member = members_[slot];
    if (offer.waiting || member.destroying) machine_.engine.wake(static_cast<ActorId>(member.process));
}

bool Communicator::completed(Rank index, std::int64_t seq) const {
    if (completed(seq)) return true;
    const PendingCollective* open = pending(seq);
    return open && open->offers[slot_of(index)].left;
}

void Communicator::count_traffic(const PendingCollective& pending) {
    const Offer& offer = pending.offers.front();
    const std::int64_t bytes = bytes_per_hop(offer.op, bytes_of(offer), size());
    for (std::size_t i = 0; i + 1 < nodes_out_.size(); i += 2) {
        const Hop hop{nodes_out_[i], nodes_out_[i + 1]};
        machine_.network.count(hop.from, hop.to, bytes, machine_.network.retransmits(hop, bytes));
    }
}

const Offer* Communicator::oldest_pending(Rank index, std::int64_t& seq) const {
    for (const auto& pending : open_) {
        const Offer& offer = pending->offers[slot_of(index)];
        if (!offer.arrived || offer.gone || offer.left) continue;
        seq = pending->seq;
        return &offer;
    }
    return nullptr;
}

void Communicator::member_gone(Rank index) {
    Member& left = member(index);
    if (std::exchange(left.gone, true)) return;
    if (!left.closed) leave_node(index);
    for (const auto& pending : open_) {
        Offer& offer = this->offer(*pending, index);
        if (offer.left) continue;
        pending->lose(offer);
        offer.out = nullptr;
        offer.wants_bytes = false;
        offer.work = nullptr;
        offer.waiting = false;
    }
    // Its kernel dies with it, also while the data moves.
    if (!open_.empty() && open_.front()->state == PendingCollective::State::moving && open_.front()->spoiled)
        halt(*open_.front());
    p2p_.member_gone(index);
    if (over_gloo()) break_waiting_members(index);
}

void Communicator::abort(Rank index) {
    if (std::exchange(member(index).aborted, true)) return;
    member_gone(index);
    machine_.engine.wake(static_cast<ActorId>(member(index).process));
}

void Communicator::destroy(Rank index) {
    if (holding_.empty())
        for (const Member& known : members_)
            if (!known.gone && !known.closed) ++holding_[place_of(known.place).node];
    Member& own = member(index);
    if (own.gone || own.closed || own.destroying) return;
    leave_node(index);
    own.destroying = true;
}

void Communicator::close_member(Rank index) {
    Member& own = member(index);
    if (!std::exchange(own.closed, true) && !own.gone) leave_node(index);
}

// Whoever is gone holds nobody up; the others of its node look again.
void Communicator::leave_node(Rank index) {
    const Member& own = member(index);
    if (holding_.empty() || own.destroying) return;
    const auto node = holding_.find(place_of(index).node);
    if (node->second == 0 || --node->second > 0) return;
    for (const Member& other : members_)
        if (other.destroying && place_of(other.place).node == node->first)
            machine_.engine.wake(static_cast<ActorId>(other.process));
}

bool Communicator::may_be_freed(Rank index) {
    std::int64_t seq = 0;
    if (oldest_pending(index, seq) || p2p_.oldest_pending(index)) return false;
    return holding_[place_of(index).node] == 0;
}

void Communicator::async_error(Rank index, Code code, std::string text) {
    Member& told = member(index);
    if (told.async_error != Code::ok || told.gone) return;
    told.async_error = code;
    told.error_text = std::move(text);
    if (over_gloo()) return machine_.engine.wake(static_cast<ActorId>(told.process));
    machine_.watchdog.async_error(machine_.processes[told.process]);
}

std::string group_prefix(const Communicator& comm, Rank index) {
    const auto group = comm.id() - 1;
    return fmt::format("[PG ID {} PG GUID {}({}) Rank {}] ", group, group,
                       comm.name() == results::GroupName::world ? "default_pg" : comm.name(), index);
}

void Communicator::wake_all() {
    for (const Member& member : members_) machine_.engine.wake(static_cast<ActorId>(member.process));
}

}  // namespace deadrank::sim
