// results/analysis/calls.h — Collective calls as all ranks saw them, matched; and what c10d under
// TORCH_DISTRIBUTED_DEBUG=DETAIL prints when they do not match.
#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "results/analysis/complaints.h"
#include "results/analysis/lives.h"

namespace deadrank::results::analysis {

// Communicators and what their members called on them, matched by sequence number. Members are placed by
// their rank in the communicator; processes are numbered as the launcher does.

struct Call {
    const CollectiveEnter* what = nullptr;  // null: this member has not come
    Time entered = never;
    Time left = never;  // only a leave without error counts
    Code result = Code::ok;

    bool pending_at(Time time) const { return entered <= time && left > time; }
};

struct Collective {
    std::int64_t seq = 0;
    std::vector<Call> calls;  // by place

    Time complete_at() const;  // when the last member came; `never` when one is missing
};

struct P2pCall {
    Rank process = no_rank;
    Rank peer = no_rank;  // process; no_rank when nobody has that place
    const P2pEnter* what = nullptr;
    Time entered{0};
    Time left = never;
    Code result = Code::ok;
    std::int64_t number = 0;  // of its kind between the two, of one tag
};

// How one member joined the communicator.
struct Joining {
    Rank process = no_rank;
    Time entered{0};
    Time left = never;
    Code result = Code::ok;
    const CommInitEnter* what = nullptr;
};

struct Communicator {
    CommId id = 0;
    int attempt = 0;
    std::string_view name = {};
    std::vector<Rank> ranks = {};      // members as RANK names them, by the list most of them believe in
    std::vector<Rank> processes = {};  // by place; no_rank = nobody came there
    std::vector<Joining> joinings = {};
    std::map<std::int64_t, Collective> collectives = {};
    // Calls without a successful end. A send whose message was taken waits for nothing, though nobody asked.
    std::vector<P2pCall> open_p2p = {};

    std::size_t place_of(Rank process) const;  // size() when it is no member
};

class Calls {
public:
    explicit Calls(const Evidence& evidence);

    const std::vector<Communicator>& communicators() const { return communicators_; }
    const Communicator* find(int attempt, CommId id) const;

    // Which process claims this rank; if none does, the process of that number.
    Rank process_of(int attempt, Rank rank) const;

private:
    Communicator& open(int attempt, CommId id);
    void take_rendezvous(const Evidence& evidence);
    void take_joinings(const Evidence& evidence);
    void take_collectives(const Evidence& evidence);
    void take_p2p(const Evidence& evidence);

    const Lives& lives_;
    std::vector<Communicator> communicators_;
    std::map<std::pair<int, CommId>, std::size_t> index_;
    std::map<std::pair<int, Rank>, Rank> claimed_;
};

// "0-3,6" → 0 1 2 3 6; what cannot be read is left out. At most a million members.
std::vector<Rank> parse_members(std::string_view words);

// What c10d under TORCH_DISTRIBUTED_DEBUG=DETAIL prints of a rank's own call when calls do not match. Each
// rank compares itself with the first that differs, so one text names two ranks and no culprit; all texts
// together do.

struct OddFingerprint {
    std::vector<Rank> odd = {};     // processes, ascending; empty if no call has a majority
    std::string_view usual = {};    // "SequenceNumber=20, OpType=ALLREDUCE, TensorShape=[16]"
    std::string_view unusual = {};  // of the first odd one

    explicit operator bool() const { return !odd.empty(); }
};

OddFingerprint find_odd_fingerprint(const Evidence& evidence, const Outbreak& outbreak);

}  // namespace deadrank::results::analysis
