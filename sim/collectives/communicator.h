// sim/collectives/communicator.h — What the members of one communicator share: calls matched by their number,
// in order, one after another. No time-out, no check of what others call: calls that do not match never end.
// Errors wait until they are polled.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sim/collectives/cost.h"
#include "sim/collectives/nccl_settings.h"
#include "sim/collectives/offer.h"
#include "sim/collectives/p2p.h"
#include "sim/collectives/playout.h"
#include "sim/machine/processes.h"

namespace deadrank::sim {

struct Fabric;

struct Member {
    Rank process = 0;
    Rank place = 0;
    Rank weight = 1;          // a crowd is one member that stands for many places
    std::int64_t called = 0;  // sequence number of its last collective
    std::int64_t p2p_called = 0;
    std::int64_t batches = 0;
    Code async_error = Code::ok;
    bool error_shown = false;
    bool aborted = false;
    bool gone = false;
    bool closed = false;      // its process let go of the communicator
    bool destroying = false;  // … or waits until it may
    Algorithm algorithm = Algorithm::automatic;
    std::int64_t network_chunk = 0;  // bytes of its messages to other nodes
    std::string error_text = {};
};

// How its members reach other nodes: what sockets make of a link's bandwidth, the nodes that reach less of
// it, and those whose cards are turned away from their devices' memory.
struct Transport {
    struct NodeShare {
        int node = 0;
        std::int64_t permille = 1000;
    };

    bool sockets = false;
    std::int64_t permille = 1000;
    std::vector<NodeShare> slower = {};  // by node
    std::vector<int> blocked = {};       // ascending
    std::vector<int> shared = {};        // nodes whose devices reach each other through shared memory
    std::vector<int> stuck = {};         // nodes within which transfers never end
    std::vector<int> cards = {};         // by place; empty: each uses that of its device

    void add(const NcclSettings& settings, int node, std::int64_t link_bandwidth);
    void sort();
    bool usual() const { return permille == 1000 && slower.empty() && shared.empty(); }
    Hop over(Hop hop) const;
    bool blocks(int node) const { return std::binary_search(blocked.begin(), blocked.end(), node); }
    bool never_ends(const Hop& hop) const {
        return hop.from == hop.to && std::binary_search(stuck.begin(), stuck.end(), hop.from);
    }
};

class Communicator {
public:
    Communicator(Fabric& machine, results::CommId id, std::string name, std::vector<Rank> ranks,
                 std::vector<Rank> processes);

    results::CommId id() const { return id_; }
    const std::string& name() const { return name_; }
    const std::vector<Rank>& ranks() const { return ranks_; }
    Rank size() const { return static_cast<Rank>(ranks_.size()); }
    Member& member(Rank place) { return members_[slot_of(place)]; }
    const Member& member(Rank place) const { return members_[slot_of(place)]; }
    bool has_crowd() const { return members_.size() < ranks_.size(); }
    Offer& offer(PendingCollective& pending, Rank place) const { return pending.offers[slot_of(place)]; }
    bool detail() const { return detail_; }
    void set_detail(bool on) { detail_ = on; }
    std::uint64_t meeting() const { return meeting_; }  // of the store that its members met at
    void set_meeting(std::uint64_t meeting) { meeting_ = meeting; }
    void use(Transport transport);  // before its first call
    // How long a member's watchdog lets its calls run: as it asked, or as all groups do.
    void bound_calls(Rank index, Time timeout) { timeouts_[index] = timeout; }
    Time call_timeout(Rank index) const;
    // What the library says of a transfer that a card cannot make; empty = it can.
    std::string access_problem(Rank from, Rank to) const;
    bool never_ends(Rank from,
                    Rank to) const;  // a transfer between two devices of a node that do not reach each other

    // Collectives. enter() numbers the call; it is over when completed(), or never.
    std::int64_t enter(Rank index, const Offer& offer);
    // Its caller stops waiting: the call goes on without it, with its data as it is now, or with zeros where
    // the data may be gone already.
    void withdraw(Rank index, std::int64_t seq, bool data_is_there);
    bool completed(std::int64_t seq) const { return seq <= completed_; }
    bool completed(Rank index, std::int64_t seq) const;  // its own part at least
    bool failed() const { return !open_.empty() && open_.front()->state == PendingCollective::State::failed; }
    PendingCollective* pending(std::int64_t seq);  // nullptr once it is over
    const PendingCollective* pending(std::int64_t seq) const {
        return const_cast<Communicator*>(this)->pending(seq);
    }
    const Offer* oldest_pending(Rank index, std::int64_t& seq) const;
    std::int64_t last_completed() const { return completed_; }

    P2pBoard& p2p() { return p2p_; }
    const P2pBoard& p2p() const { return p2p_; }

    // What happens to it from outside.
    void member_gone(Rank index);  // died: peers are told nothing, unless by gloo
    void abort(Rank index);
    // destroy: this member has come to let go of it, and may when may_be_freed() says so.
    void destroy(Rank index);
    void close_member(Rank index);
    bool may_be_freed(Rank index);
    // Over gloo alone: a rank's connection to a peer is gone, and the rank is told.
    bool over_gloo() const { return over_gloo_; }
    void set_over_gloo(bool on) { over_gloo_ = on; }
    void lose_peer(Rank index, Rank peer);
    bool is_over_for(Rank index) const {  // its calls come back with an error
        return member(index).aborted || (over_gloo() && member(index).async_error != Code::ok);
    }
    void async_error(Rank index, Code code, std::string text);
    void links_changed(const LinkChange* reset);
    void shares_changed(const Ports& ports);
    void member_stopped();                        // or resumed
    Hop hop_between(Rank from, Rank to) const;    // as the links are now
    int port_of(Rank index) const;                // the card that its data leaves and enters by
    bool stands_still(Rank from, Rank to) const;  // a process at one end is stopped
    bool crosses(const LinkChange& change) const;

private:
    PendingCollective& open(std::int64_t seq);
    void try_start();
    void start(PendingCollective& pending);
    void pace(PendingCollective& pending);
    void pace_uniformly(PendingCollective& pending, const Course& course);
    void pace_by_chunks(PendingCollective& pending, const Course& course);
    void set_timer(PendingCollective& pending);
    void go_on(std::int64_t seq);
    void leave(PendingCollective& pending, std::size_t slot);
    void finish(std::int64_t seq);
    void halt(PendingCollective& pending);  // it never ends
    void release_ports();
    void break_after_retries(std::int64_t seq);
    bool chunks_fit();
    bool cards_reach_devices();
    bool peers_reach_each_other() const;
    RingCost ring_now(Rank* broken) const;
    Hop usual_hop(Rank from, Rank to) const;
    LinkConditions conditions() const;
    Course course_of(const PendingCollective& pending);
    struct HistoryOfLinks;
    DevicePlace place_of(Rank index) const;
    std::size_t slot_of(Rank place) const;
    void find_ports();
    void count_traffic(const PendingCollective& pending);
    void wake_all();
    void leave_node(Rank index);
    void break_waiting_members(Rank lost);
    void abort_shorter_messages(const PendingCollective& pending);

    Fabric& machine_;
    results::CommId id_;
    bool detail_ = false;
    bool over_gloo_ = false;
    std::uint64_t meeting_ = 0;
    bool broken_ = false;  // connections are gone: nothing completes any more
    std::string name_;
    std::vector<Rank> ranks_;  // as RANK names them
    Counted<Member> members_;  // by place; those in the crowd have one
    std::size_t crowd_ = 0;    // which of them that is
    RingCost ring_;            // while nothing disturbs the links
    Transport transport_;
    std::vector<int> nodes_out_;             // where the ring leaves a node, and for which one: pairs
    std::vector<int> nodes_;                 // of its members, ascending
    std::vector<int> ports_out_, ports_in_;  // of its ring, ascending; none of a crowd, which is alone
    PlayedBefore played_;                    // under what stays unusual, all calls alike take as long
    std::int64_t completed_ = 0;
    std::vector<std::unique_ptr<PendingCollective>> open_;  // by seq, from completed_ + 1
    std::map<Rank, Time> timeouts_;                         // of members that asked for one of their own
    std::vector<std::unique_ptr<PendingCollective>> spare_;
    std::map<int, Rank> holding_;  // by node: members that did not let go; empty until one destroys it
    P2pBoard p2p_;
};

// Before what torch logs about a group.
std::string group_prefix(const Communicator& comm, Rank index);

}  // namespace deadrank::sim
