// results/record/payloads_communication.h — Meeting at the store, communicators, collectives and
// point-to-point calls. Trivially copyable; fields are visited in the order written. Units: nanoseconds,
// bytes, elements, degrees Celsius, watts.
#pragma once

#include <cstdint>
#include <string_view>

#include "results/record/codes.h"

namespace deadrank::results {

// The rank waits for its peers at the store. expected: the world size it believes in.
struct RendezvousEnter {
    static constexpr std::string_view kind = "rendezvous.enter";
    std::int32_t claimed_rank = 0;
    std::int32_t expected = 0;
    TextId endpoint = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("claimed_rank", self.claimed_rank);
        visit("expected", self.expected);
        visit("endpoint", self.endpoint);
    }
};

// joined: how many it saw there.
struct RendezvousLeave {
    static constexpr std::string_view kind = "rendezvous.leave";
    std::int32_t joined = 0;
    Code result = Code::ok;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("joined", self.joined);
        visit("result", self.result);
    }
};

// members: ranks in the order of the communicator, as "0-3,6".
struct CommInitEnter {
    static constexpr std::string_view kind = "comm.init.enter";
    CommId comm = 0;
    std::int32_t size = 0;
    std::int32_t rank_in_comm = 0;
    TextId name = TextId::none;
    TextId members = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("comm", self.comm);
        visit("size", self.size);
        visit("rank_in_comm", self.rank_in_comm);
        visit("name", self.name);
        visit("members", self.members);
    }
};

// transport: what was chosen (NVLink, NET/IB, NET/Socket over eth0, SHM).
struct CommInitLeave {
    static constexpr std::string_view kind = "comm.init.leave";
    CommId comm = 0;
    Code result = Code::ok;
    TextId transport = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("comm", self.comm);
        visit("result", self.result);
        visit("transport", self.transport);
    }
};

// The library answered or queued an error.
struct CommError {
    static constexpr std::string_view kind = "comm.error";
    CommId comm = 0;
    Code code = Code::ok;
    TextId message = TextId::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("comm", self.comm);
        visit("code", self.code);
        visit("message", self.message);
    }
};

struct CommAbort {
    static constexpr std::string_view kind = "comm.abort";
    CommId comm = 0;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("comm", self.comm);
    }
};

// seq counts per communicator from 1. count in elements of dtype. root -1 = none.
struct CollectiveEnter {
    static constexpr std::string_view kind = "collective.enter";
    CommId comm = 0;
    std::int64_t seq = 0;
    std::int64_t count = 0;
    std::int32_t root = -1;
    Op op = Op::none;
    Dtype dtype = Dtype::none;
    ReduceOp reduce = ReduceOp::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("comm", self.comm);
        visit("seq", self.seq);
        visit("count", self.count);
        visit("root", self.root);
        visit("op", self.op);
        visit("dtype", self.dtype);
        visit("reduce", self.reduce);
    }
};

struct CollectiveLeave {
    static constexpr std::string_view kind = "collective.leave";
    CommId comm = 0;
    std::int64_t seq = 0;
    Op op = Op::none;
    Code result = Code::ok;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("comm", self.comm);
        visit("seq", self.seq);
        visit("op", self.op);
        visit("result", self.result);
    }
};

// peer in ranks of the communicator; op is send or recv.
struct P2pEnter {
    static constexpr std::string_view kind = "p2p.enter";
    CommId comm = 0;
    std::int64_t seq = 0;
    std::int64_t count = 0;
    std::int32_t peer = 0;
    std::int32_t tag = 0;
    Op op = Op::none;
    Dtype dtype = Dtype::none;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("comm", self.comm);
        visit("seq", self.seq);
        visit("count", self.count);
        visit("peer", self.peer);
        visit("tag", self.tag);
        visit("op", self.op);
        visit("dtype", self.dtype);
    }
};

struct P2pLeave {
    static constexpr std::string_view kind = "p2p.leave";
    CommId comm = 0;
    std::int64_t seq = 0;
    std::int32_t peer = 0;
    Op op = Op::none;
    Code result = Code::ok;

    template <class Self, class Visit>
    static void fields(Self& self, Visit&& visit) {
        visit("comm", self.comm);
        visit("seq", self.seq);
        visit("peer", self.peer);
        visit("op", self.op);
        visit("result", self.result);
    }
};

}  // namespace deadrank::results
