// sim/collectives/offer.h — What one member brings to a collective, and the meeting of all members' offers
// under one sequence number.
#pragma once

#include <algorithm>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/effort.h"
#include "sim/machine/link_history.h"
#include "sim/machine/topology.h"
#include "sim/world/comm.h"

namespace deadrank::sim {

class SimWork;

struct Offer {
    const Number* in = nullptr;
    Number* out = nullptr;                   // null: the result is no longer wanted
    const ByteCall* bytes = nullptr;         // of a call on bytes, which has neither `in` nor `out`
    bool wants_bytes = false;                // its result is still wanted
    std::int64_t in_size = 0, out_size = 0;  // elements that are really there
    std::int64_t count = 0;                  // elements that the call names (NCCL's count)
    std::int64_t flip_bit = -1;
    Time entered{0};
    SimWork* work = nullptr;  // of an asynchronous call
    Rank place = 0;           // in the communicator
    Rank weight = 1;          // so many members bring the same
    std::int32_t root = -1;
    results::Op op = results::Op::none;
    results::Dtype dtype = results::Dtype::none;
    results::ReduceOp reduce = results::ReduceOp::none;
    bool flip_received = false;
    bool arrived = false;
    bool stuck = false;    // its kernel hangs
    bool gone = false;     // its process died, or aborted the communicator
    bool waiting = false;  // its process is to be woken
    bool left = false;     // it is done, others may not be
};

inline constexpr std::int64_t count_max = std::int64_t{1} << 50;  // so that its bytes and times stay in range

std::int64_t bytes_of(const Offer& offer);

// Whether NCCL's kernels would fit together. Types and reductions may differ: NCCL does not check them.
bool fits(const Offer& offer, const Offer& other);

struct PendingCollective {
    enum class State : std::uint8_t { gathering, moving, never_completes, failed };

    explicit PendingCollective(Effort& effort) : offers(effort) {}

    std::int64_t seq = 0;
    Rank arrived = 0;
    bool spoiled = false;  // a member is stuck or gone
    Rank gone = -1;        // the first place whose process is gone
    State state = State::gathering;
    Movement movement;  // of the whole, and the timer in any case
    Time started{0};
    // Played out chunk by chunk once anything is unusual: what it has met so far, and what came of it.
    std::vector<LinkConditions> met;
    std::vector<Time> ends;          // by place
    Time gives_up = results::never;  // when the sender's retries run out
    Rank stalled = -1, towards = -1;
    Rank members = 0;
    Counted<Offer> offers;                  // by place in the communicator; a crowd has one
    bool one_type = false;                  // all offers are of one dtype
    std::int64_t part = 0;                  // elements computed for one call's count: no more than any has
    std::vector<Number> result;             // computed when all have come, handed out when the data has moved
    std::vector<std::vector<Number>> kept;  // the data of callers who went on without waiting
    std::vector<std::byte> byte_result;     // of calls on bytes
    std::vector<std::int64_t>
        byte_starts;  // where the part of each receiver begins; empty: all get the whole
    struct KeptBytes {
        ByteCall call;
        std::vector<std::byte> data;
    };
    std::vector<std::unique_ptr<KeptBytes>> kept_bytes;

    void lose(Offer& offer) {
        offer.gone = spoiled = true;
        gone = gone < 0 ? offer.place : std::min(gone, offer.place);
    }
};

// The numbers that come of it, by the members' own types and operations. Each takes its part with deliver().
void compute(PendingCollective& pending);
const Offer& offer_at(const PendingCollective& pending, std::int64_t place);
void deliver(const PendingCollective& pending, const Offer& mine);

}  // namespace deadrank::sim
