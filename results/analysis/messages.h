// results/analysis/messages.h — Sends and receives matched in the order in which they were made: how long a
// message was under way while both its ends had come.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <tuple>

#include "results/analysis/calls.h"

namespace deadrank::results::analysis {

// Of a send that has ended: from when both had come until the receiver had it, or until the sender was told.
struct UnderWay {
    Time from{0}, to{0};     // equal where the receiver has not been seen, and of a receive
    std::uint32_t mark = 0;  // that of the rank which leaves, from when it entered
};

// Fed with the events of a job in order of time. A message is forgotten when both ends have left it.
class Messages {
public:
    explicit Messages(const Evidence& evidence)
        : lives_(evidence.facts<Lives>()), calls_(evidence.facts<Calls>()) {}

    void enters(const Event& event, std::uint32_t mark);
    // `unknown` is the mark where nobody saw the message begin.
    UnderWay leaves(const Event& event, std::uint32_t unknown);

private:
    struct Message {
        Time sent = never, taken = never, received = never;
        std::int64_t send_seq = -1, receive_seq = -1;
        std::uint32_t send_mark = 0, receive_mark = 0;
        bool send_over = false;
    };
    struct Lane {
        std::deque<Message> messages;
        std::size_t sends = 0, receives = 0;  // how many of `messages` have that end
    };
    using Key = std::tuple<int, CommId, Rank, Rank>;  // attempt, communicator, from, to

    Lane* lane_of(const Event& event, CommId comm, std::int32_t peer, Op op);

    const Lives& lives_;
    const Calls& calls_;
    std::map<Key, Lane> lanes_;
};

// How long calls took once all members had come: the network's share, free of stragglers.

// Calls that move the same amount the same way.
struct TransferKind {
    Op op = Op::none;
    std::int64_t bytes = 0;
    auto operator<=>(const TransferKind&) const = default;
};

struct Transfer {
    Time at{0};  // when the last member left
    Time lasted{0};
};

struct CommTransfers {
    const Communicator* comm = nullptr;
    std::map<TransferKind, std::vector<Transfer>> kinds = {};  // in order of sequence
};

// By communicator, in order of creation. Calls that did not end on all members are left out.
std::vector<CommTransfers> transfers_of(const Evidence& evidence);

}  // namespace deadrank::results::analysis
