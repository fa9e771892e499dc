// results/analysis/calls.cpp — Collective calls as all ranks saw them, matched; and what c10d under
// TORCH_DISTRIBUTED_DEBUG=DETAIL prints when they do not match.
#include "results/analysis/calls.h"

#include <algorithm>
#include <charconv>
#include <iterator>
#include <set>
#include <tuple>

#include "results/record/event_names.h"

namespace deadrank::results::analysis {

// ── Events come by kind, each kind in order of time.

namespace {

constexpr Rank members_max = 1'000'000;

// A member's place. The communicator grows for members that never reported joining.
std::size_t seat(Communicator& comm, Rank process) {
    const std::size_t place = comm.place_of(process);
    if (place == comm.processes.size()) comm.processes.push_back(process);
    return place;
}

}  // namespace

std::vector<Rank> parse_members(std::string_view words) {
    std::vector<Rank> members;
    const char* at = words.data();
    const char* end = at + words.size();
    while (at < end) {
        Rank first = 0;
        auto read = std::from_chars(at, end, first);
        if (read.ec != std::errc()) {
            ++at;
            continue;
        }
        Rank last = first;
        if (read.ptr < end && *read.ptr == '-') read = std::from_chars(read.ptr + 1, end, last);
        for (Rank r = first; r <= last && static_cast<Rank>(members.size()) < members_max; ++r)
            members.push_back(r);
        at = std::max(read.ptr, at + 1);
    }
    return members;
}

namespace {

// In a huge job the launcher may name a sample of ranks to observe: only they can be missed. Empty: all.
std::vector<Rank> observed_ranks(const Evidence& evidence) {
    for (const Event* event : evidence.each<RankConfig>()) {
        const auto* config = event->as<RankConfig>();
        if (event->rank == no_rank && evidence.text(config->name) == ConfigName::observed_ranks)
            return parse_members(evidence.text(config->value));
    }
    return {};
}

}  // namespace

Time Collective::complete_at() const {
    Time last{0};
    for (const Call& call : calls) last = std::max(last, call.entered);
    return last;
}

std::size_t Communicator::place_of(Rank process) const {
    // Two short cuts: a process often sits at the index of its own number, or members are in order.
    const auto guess = static_cast<std::size_t>(std::max(process, 0));
    if (guess < processes.size() && processes[guess] == process) return guess;
    const auto sorted = std::lower_bound(processes.begin(), processes.end(), process);
    if (sorted != processes.end() && *sorted == process)
        return static_cast<std::size_t>(sorted - processes.begin());
    return static_cast<std::size_t>(std::find(processes.begin(), processes.end(), process) -
                                    processes.begin());
}

Calls::Calls(const Evidence& evidence) : lives_(evidence.facts<Lives>()) {
    take_rendezvous(evidence);
    take_joinings(evidence);
    take_collectives(evidence);
    take_p2p(evidence);
}

Communicator& Calls::open(int attempt, CommId id) {
    const auto [at, fresh] = index_.try_emplace({attempt, id}, communicators_.size());
    if (fresh) communicators_.push_back({.id = id, .attempt = attempt});
    return communicators_[at->second];
}

const Communicator* Calls::find(int attempt, CommId id) const {
    const auto found = index_.find({attempt, id});
    return found == index_.end() ? nullptr : &communicators_[found->second];
}

Rank Calls::process_of(int attempt, Rank rank) const {
    const auto found = claimed_.find({attempt, rank});
    if (found != claimed_.end()) return found->second;
    return rank >= 0 && rank < lives_.count() ? rank : no_rank;
}

void Calls::take_rendezvous(const Evidence& evidence) {
    for (const Event* event : evidence.each<RendezvousEnter>()) {
        if (event->rank < 0) continue;
        const Rank claims = event->as<RendezvousEnter>()->claimed_rank;
        claimed_.try_emplace({lives_.attempt_at(event->at), claims}, event->rank);
    }
}

void Calls::take_joinings(const Evidence& evidence) {
    struct List {
        std::vector<Rank> all, seen;
    };
    std::map<TextId, List> lists;
    const std::vector<Rank> observed = observed_ranks(evidence);
    for (const Event* event : evidence.each<CommInitEnter>()) {
        const auto* enter = event->as<CommInitEnter>();
        Communicator& comm = open(lives_.attempt_at(event->at), enter->comm);
        auto [list, fresh] = lists.try_emplace(enter->members);
        auto& [all, seen] = list->second;
        if (fresh) {
            all = parse_members(evidence.text(enter->members));
            std::copy_if(all.begin(), all.end(), std::back_inserter(seen), [&](Rank rank) {
                return observed.empty() || std::binary_search(observed.begin(), observed.end(), rank);
            });
        }
        if (comm.name.empty()) comm.name = evidence.text(enter->name);
        if (comm.ranks.size() < seen.size()) comm.ranks = seen;
        const auto size = observed.empty()
                              ? static_cast<std::size_t>(std::clamp<Rank>(enter->size, 0, members_max))
                              : seen.size();
        if (comm.processes.size() < size) comm.processes.resize(size, no_rank);
        auto place = static_cast<std::size_t>(std::max(enter->rank_in_comm, 0));
        if (!observed.empty() && place < all.size())
            place = static_cast<std::size_t>(std::find(seen.begin(), seen.end(), all[place]) - seen.begin());
        if (enter->rank_in_comm >= 0 && place < comm.processes.size() && comm.processes[place] == no_rank) {
            comm.processes[place] = event->rank;
        }
        comm.joinings.push_back({event->rank, event->at, never, Code::ok, enter});
    }
    std::map<std::pair<std::size_t, Rank>, std::size_t> open_joinings;
    for (std::size_t c = 0; c < communicators_.size(); ++c) {
        for (std::size_t j = 0; j < communicators_[c].joinings.size(); ++j) {
            open_joinings[{c, communicators_[c].joinings[j].process}] = j;
        }
    }
    for (const Event* event : evidence.each<CommInitLeave>()) {
        const auto* leave = event->as<CommInitLeave>();
        const auto comm = index_.find({lives_.attempt_at(event->at), leave->comm});
        if (comm == index_.end()) continue;
        const auto joining = open_joinings.find({comm->second, event->rank});
        if (joining == open_joinings.end()) continue;
        Joining& entry = communicators_[comm->second].joinings[joining->second];
        entry.left = event->at;
        entry.result = leave->result;
    }
}

void Calls::take_collectives(const Evidence& evidence) {
    struct Last {
        Communicator* comm = nullptr;
        Collective* collective = nullptr;
    };
    Last last;
    const auto collective_of = [&](Communicator& comm, std::int64_t seq) -> Collective& {
        if (last.comm == &comm && last.collective->seq == seq) return *last.collective;
        Collective& collective = comm.collectives[seq];
        collective.seq = seq;
        last = {&comm, &collective};
        return collective;
    };
    for (const Event* event : evidence.each<CollectiveEnter>())
        open(lives_.attempt_at(event->at), event->as<CollectiveEnter>()->comm);
    for (const Event* event : evidence.each<CollectiveEnter>()) {
        const auto* enter = event->as<CollectiveEnter>();
        Communicator& comm = open(lives_.attempt_at(event->at), enter->comm);
        Collective& collective = collective_of(comm, enter->seq);
        const std::size_t place = seat(comm, event->rank);
        if (collective.calls.size() < comm.processes.size()) collective.calls.resize(comm.processes.size());
        if (!collective.calls[place].what) collective.calls[place] = {enter, event->at};
    }
    for (Communicator& comm : communicators_) {  // members that joined after some of these calls
        for (auto& [seq, collective] : comm.collectives) collective.calls.resize(comm.processes.size());
    }
    for (const Event* event : evidence.each<CollectiveLeave>()) {
        const auto* leave = event->as<CollectiveLeave>();
        const auto found = index_.find({lives_.attempt_at(event->at), leave->comm});
        if (found == index_.end()) continue;
        Communicator& comm = communicators_[found->second];
        const std::size_t place = comm.place_of(event->rank);
        if (place == comm.processes.size()) continue;
        Collective* collective =
            last.comm == &comm && last.collective->seq == leave->seq ? last.collective : nullptr;
        if (!collective) {
            const auto known = comm.collectives.find(leave->seq);
            if (known == comm.collectives.end()) continue;
            collective = &known->second;
            last = {&comm, collective};
        }
        Call& call = collective->calls[place];
        if (!call.what) continue;
        call.result = leave->result;
        if (leave->result == Code::ok) call.left = event->at;
    }
}

namespace {

using Lane = std::tuple<CommId, std::int32_t, Rank, Rank>;  // communicator, tag, from, to

}  // namespace

void Calls::take_p2p(const Evidence& evidence) {
    const auto enters = evidence.each<P2pEnter>();
    const auto leaves = evidence.each<P2pLeave>();
    // Both are in order of time and calls end soon, so the list of open calls stays short.
    std::size_t next = 0;
    const auto lane_of = [](const P2pCall& call) {
        const bool sends = call.what->op == Op::send;
        return Lane{call.what->comm, call.what->tag, sends ? call.process : call.peer,
                    sends ? call.peer : call.process};
    };
    std::map<std::pair<int, Lane>, std::pair<std::int64_t, std::int64_t>> made;  // sends and receives
    std::map<std::pair<int, Lane>, std::set<std::int64_t>> taken;                // of which no send has left
    const auto finish = [&](const Event* event) {
        const auto* leave = event->as<P2pLeave>();
        const auto found = index_.find({lives_.attempt_at(event->at), leave->comm});
        if (found == index_.end()) return;
        auto& calls = communicators_[found->second].open_p2p;
        for (std::size_t i = 0; i < calls.size(); ++i) {
            P2pCall& call = calls[i];
            if (call.process != event->rank || call.what->seq != leave->seq || call.what->op != leave->op)
                continue;
            if (leave->result != Code::ok) {
                call.result = leave->result;
                return;
            }
            auto& over = taken[{communicators_[found->second].attempt, lane_of(call)}];
            if (call.what->op == Op::recv) over.insert(call.number);
            if (call.what->op == Op::send) over.erase(call.number);
            call = calls.back();
            calls.pop_back();
            return;
        }
    };
    for (const Event* event : enters) {
        while (next < leaves.size() && leaves[next]->at < event->at) finish(leaves[next++]);
        const auto* enter = event->as<P2pEnter>();
        Communicator& comm = open(lives_.attempt_at(event->at), enter->comm);
        const auto peer = static_cast<std::size_t>(enter->peer);  // of a recv from anybody there is none
        comm.open_p2p.push_back({.process = event->rank,
                                 .peer = peer < comm.processes.size() ? comm.processes[peer] : no_rank,
                                 .what = enter,
                                 .entered = event->at});
        P2pCall& call = comm.open_p2p.back();
        auto& [sends, receives] = made[{comm.attempt, lane_of(call)}];
        call.number = enter->op == Op::send ? sends++ : receives++;
    }
    while (next < leaves.size()) finish(leaves[next++]);
    for (Communicator& comm : communicators_) {
        std::erase_if(comm.open_p2p, [&](const P2pCall& call) {
            const auto lane = taken.find({comm.attempt, lane_of(call)});
            return call.what->op == Op::send && call.peer != no_rank && lane != taken.end() &&
                   lane->second.contains(call.number);
        });
    }
}

namespace {

// The first fingerprint in a text is the printing rank's own, whatever its number in the group.
constexpr std::string_view own_call = " is running collective: CollectiveFingerPrint(";

// Up to the shape: types and devices follow in a page of tensor options, and matter only for comparing.
std::string_view short_form(std::string_view fingerprint) {
    return fingerprint.substr(0, fingerprint.find(", TensorDtypes="));
}

std::string_view fingerprint_in(std::string_view text) {
    const auto from = text.find(own_call);
    if (from == std::string_view::npos) return {};
    text.remove_prefix(from + own_call.size());
    return text.substr(0, text.find("), but Rank "));
}

struct Side {
    std::string_view fingerprint;
    std::vector<Rank> ranks = {};
};

}  // namespace

OddFingerprint find_odd_fingerprint(const Evidence& evidence, const Outbreak& outbreak) {
    std::vector<Side> sides;
    for (const Complaint& said : evidence.facts<Complaints>().first_of_each(outbreak.attempt)) {
        const std::string_view fingerprint = fingerprint_in(said.text);
        if (said.trouble != Trouble::mismatch || fingerprint.empty()) continue;
        auto side = std::find_if(sides.begin(), sides.end(),
                                 [&](const Side& other) { return other.fingerprint == fingerprint; });
        if (side == sides.end()) side = sides.insert(sides.end(), {.fingerprint = fingerprint});
        side->ranks.push_back(said.process);
    }
    std::stable_sort(sides.begin(), sides.end(),
                     [](const Side& a, const Side& b) { return a.ranks.size() > b.ranks.size(); });
    OddFingerprint found;
    if (sides.size() < 2) return found;
    for (std::size_t i = 1; i < sides.size(); ++i) {
        found.odd.insert(found.odd.end(), sides[i].ranks.begin(), sides[i].ranks.end());
    }
    if (found.odd.size() >= sides[0].ranks.size()) return {};
    found.odd = sorted(std::move(found.odd));
    found.usual = short_form(sides[0].fingerprint);
    found.unusual = short_form(sides[1].fingerprint);
    return found;
}

}  // namespace deadrank::results::analysis
