// sim/collectives/cost.cpp — Ring: every chunk passes every hop, so latencies add up and the narrowest hop
// sets the pace. Tree (a double binary one): depth × latency, twice the bytes. The cheaper one is taken
// unless told otherwise.
#include "sim/collectives/cost.h"

#include <algorithm>
#include <bit>

namespace deadrank::sim {

namespace {

using results::Op;

// So many steps of a pipelined ring, each moving one chunk over every hop.
Time ring_time(const RingCost& ring, std::int64_t steps, std::int64_t chunk_bytes) {
    return ring.latency_sum * steps / ring.size + time_of(chunk_bytes, ring.bandwidth) * steps;
}

Time tree_time(const RingCost& ring, std::int64_t bytes) {
    const auto depth = static_cast<std::int64_t>(std::bit_width(static_cast<unsigned>(ring.size - 1)));
    return ring.latency_max * (2 * depth) + time_of(2 * bytes, ring.bandwidth);
}

std::int64_t chunk(std::int64_t bytes, int size) { return (bytes + size - 1) / size; }

Time all_reduce_time(std::int64_t bytes, const RingCost& ring, Algorithm algorithm) {
    return algorithm == Algorithm::tree ? tree_time(ring, bytes)
                                        : ring_time(ring, 2 * (ring.size - 1), chunk(bytes, ring.size));
}

}  // namespace

void RingCost::add(const Hop& hop) {
    latency_sum += hop.latency;
    latency_max = std::max(latency_max, hop.latency);
    bandwidth = std::min(bandwidth, hop.bandwidth);
}

Time collective_time(Op op, std::int64_t bytes, const RingCost& ring, Algorithm algorithm) {
    if (ring.bandwidth == 0) return results::never;
    if (ring.size < 2) return kernel_launch;
    const std::int64_t rounds = ring.size - 1;
    switch (op) {
        case Op::barrier:
        case Op::all_reduce:
            return kernel_launch + all_reduce_time(bytes, ring, algorithm_for(op, bytes, ring, algorithm));
        case Op::all_gather:
        case Op::reduce_scatter:
            return kernel_launch + ring_time(ring, rounds, bytes);
        case Op::all_to_all:
            return kernel_launch + (ring.latency_max + time_of(bytes, ring.bandwidth)) * rounds;
        default:
            return kernel_launch + ring.latency_sum + time_of(bytes, ring.bandwidth);
    }
}

Algorithm algorithm_for(Op op, std::int64_t bytes, const RingCost& ring, Algorithm wanted) {
    if (op != Op::all_reduce && op != Op::barrier) return Algorithm::ring;
    if (wanted != Algorithm::automatic) return wanted;
    const Time by_ring = all_reduce_time(bytes, ring, Algorithm::ring);
    return by_ring <= all_reduce_time(bytes, ring, Algorithm::tree) ? Algorithm::ring : Algorithm::tree;
}

std::int64_t bytes_per_hop(Op op, std::int64_t bytes, int size) {
    switch (op) {
        case Op::barrier:
        case Op::all_reduce:
            return 2 * chunk(bytes, size) * (size - 1);
        case Op::all_gather:
        case Op::reduce_scatter:
        case Op::all_to_all:
            return bytes * (size - 1);
        default:
            return bytes;
    }
}

}  // namespace deadrank::sim
