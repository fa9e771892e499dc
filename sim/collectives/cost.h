// sim/collectives/cost.h — How long a collective takes once all have come: closed forms of ring and
// tree, in integers. The members form a ring in their own order. Nothing here was compared with a machine;
// ratios matter, not microseconds.
#pragma once

#include <cstdint>

#include "results/record/codes.h"
#include "sim/machine/topology.h"

namespace deadrank::sim {

enum class Algorithm : std::uint8_t { automatic, ring, tree };

inline constexpr Time kernel_launch{4'000};  // however small its work

// A ring of devices, folded: the sum of its hops' latencies and the narrowest of their bandwidths.
struct RingCost {
    int size = 1;
    Time latency_sum{0};
    Time latency_max{0};
    std::int64_t bandwidth = INT64_MAX;  // 0: a hop is down

    void add(const Hop& hop);
};

// `bytes`: what NCCL's count makes on this rank (all_gather: its own part; reduce_scatter: what it receives;
// all_to_all: for each peer).
Time collective_time(results::Op op, std::int64_t bytes, const RingCost& ring,
                     Algorithm algorithm = Algorithm::automatic);

// What all_reduce takes when it may choose: the cheaper one.
Algorithm algorithm_for(results::Op op, std::int64_t bytes, const RingCost& ring, Algorithm wanted);

// Bytes that each hop of the ring carries for it.
std::int64_t bytes_per_hop(results::Op op, std::int64_t bytes, int size);

}  // namespace deadrank::sim
