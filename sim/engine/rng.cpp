// sim/engine/rng.cpp — Bounded draws, by the arithmetic that plans use too: one value, one meaning
// everywhere.
#include "sim/engine/rng.h"

namespace deadrank::sim {

std::uint64_t Chance::below(std::uint64_t n, std::uint64_t bound) const {
    return scenarios::bounded(at(n), bound);
}

std::int64_t Chance::between(std::uint64_t n, std::int64_t low, std::int64_t high) const {
    return scenarios::bounded_between(at(n), low, high);
}

}  // namespace deadrank::sim
