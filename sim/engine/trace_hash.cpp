// sim/engine/trace_hash.cpp — Bisection over checkpoints: once two runs differ, every later checkpoint
// differs too.
#include "sim/engine/trace_hash.h"

#include <algorithm>

#include "sim/engine/rng.h"

namespace deadrank::sim {

TraceWindow first_difference(std::span<const std::uint64_t> one, std::span<const std::uint64_t> other) {
    std::uint64_t same = 0;  // checkpoints known to agree
    std::uint64_t differs = std::min(one.size(), other.size());
    const std::uint64_t common = differs;
    while (same < differs) {
        const std::uint64_t middle = same + (differs - same) / 2;
        if (one[middle] == other[middle]) {
            same = middle + 1;
        } else {
            differs = middle;
        }
    }
    TraceWindow window;
    window.first = same * TraceHash::checkpoint_every;
    // Past the last common checkpoint one run may simply be longer; the window is then open to its end.
    if (same < common) window.last = window.first + TraceHash::checkpoint_every;
    return window;
}

std::uint64_t Chance::below(std::uint64_t n, std::uint64_t bound) const {
    return scenarios::bounded(at(n), bound);
}

std::int64_t Chance::between(std::uint64_t n, std::int64_t low, std::int64_t high) const {
    return scenarios::bounded_between(at(n), low, high);
}

}  // namespace deadrank::sim
