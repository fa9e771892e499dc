// sim/collectives/p2p.h — Sends and receives of one communicator: between two ranks they match in the order
// of their calls. Tags are written down and ignored, as NCCL's process group does. A send ends when its
// receiver has the data.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "sim/collectives/offer.h"

namespace deadrank::sim {

class Communicator;
struct Fabric;

// One call under way. Belongs to the caller; the board keeps a pointer until it is over or withdrawn.
struct P2pCall {
    bool is_send = false;
    Rank from = 0, to = 0;  // places in the communicator
    std::int64_t seq = 0;
    int tag = 0;
    const Number* in = nullptr;
    Number* out = nullptr;
    std::int64_t size = 0;   // elements that are really there
    std::int64_t count = 0;  // elements that the call names
    Dtype dtype = Dtype::none;
    std::int64_t flip_bit = -1;
    bool stuck = false;
    std::int64_t batch = 0;  // of its caller's batches, from 1: one kernel; 0: a call of its own
    bool held = false;       // until the batches before it are over
    bool done = false;
    bool dead = false;  // matched with something that does not fit: it never ends
    Time entered{0};
    P2pCall* partner = nullptr;
    Movement movement = {};            // of the receiver's call
    int out_port = -1, in_port = -1;   // ports that it uses; -1: it stays within a node
    std::int64_t arriving = 0;         // bytes, of the receiver's call
    std::vector<Number> payload = {};  // of the receiver's call, since the sender may be gone when it lands
    // Of a message in bytes, instead of in, out and payload.
    bool is_bytes = false;
    std::span<const std::byte> bytes_in = {};
    std::span<std::byte> bytes_out = {};
    std::vector<std::byte> byte_payload = {};

    void keep_data();  // for a caller who goes on without waiting: a copy to send, nowhere to receive

    Rank caller() const { return is_send ? from : to; }
    Rank peer() const { return is_send ? to : from; }
};

class P2pBoard {
public:
    P2pBoard(Fabric& machine, Communicator& comm) : machine_(machine), comm_(comm) {}

    void post(P2pCall& call);
    void withdraw(P2pCall& call);
    void adopt(std::unique_ptr<P2pCall> call);  // no caller waits for it any more, but it goes on
    void links_changed();
    void shares_changed(const Ports& ports);
    void member_gone(Rank index);
    const P2pCall* oldest_pending(Rank caller) const;
    bool waits_for(Rank caller, Rank peer) const;
    bool broken() const { return broken_; }
    void break_connections() { broken_ = true; }

private:
    void launch(P2pCall& call);
    bool waits_for_batch(const P2pCall& call) const;
    void start_next_batch(Rank caller);
    bool tags_match(const P2pCall& call, const P2pCall& other) const;
    void match(P2pCall& send, P2pCall& receive);
    void pace(P2pCall& receive);
    void depart(P2pCall& receive);
    void arrive(P2pCall& receive);  // or stop for good
    void finish(P2pCall& receive);
    void give_up(P2pCall& receive);
    void mark_dead(P2pCall& receive);
    void forget(std::vector<P2pCall*>& list, const P2pCall& call);

    Fabric& machine_;
    Communicator& comm_;
    bool broken_ = false;
    std::vector<std::vector<P2pCall*>> waiting_;  // unmatched, by receiver; empty until the first call
    std::vector<P2pCall*> moving_;                // the receivers' calls
    std::vector<P2pCall*> batched_;               // calls of batches that are not over, in their order
    std::vector<std::unique_ptr<P2pCall>> orphans_;
    std::vector<P2pCall*> stalled_;  // dead ones whose callers still wait
};

}  // namespace deadrank::sim
