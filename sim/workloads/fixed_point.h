// sim/workloads/fixed_point.h — Numbers with 16 fractional bits in 64: sums are exact, so every layout gives
// the same result. What leaves the range saturates and counts as infinite; a loss that saturated is printed
// as Inf.
#pragma once

#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "sim/world/comm.h"

namespace deadrank::sim {

__extension__ typedef __int128 Wide;

inline constexpr int fraction_bits = 16;
inline constexpr Number one = Number{1} << fraction_bits;
inline constexpr Number infinite = Number{1} << 61;

constexpr Number saturate(Wide value) {
    if (value >= infinite) return infinite;
    if (value <= -infinite) return -infinite;
    return static_cast<Number>(value);
}

constexpr Number plus(Number a, Number b) { return saturate(Wide{a} + b); }
constexpr Number times(Number a, Number b) { return saturate((Wide{a} * b) >> fraction_bits); }

// value × numerator / denominator, rounded toward zero; a denominator of 0 saturates, as 1/0 would, and what
// is infinite stays so.
constexpr Number scaled(Number value, std::int64_t numerator, std::int64_t denominator) {
    if (denominator == 0 || value >= infinite || value <= -infinite) return value < 0 ? -infinite : infinite;
    return saturate(Wide{value} * numerator / denominator);
}

// For events and people only, never for decisions.
inline double shown(Number value) {
    if (value >= infinite) return std::numeric_limits<double>::infinity();
    if (value <= -infinite) return -std::numeric_limits<double>::infinity();
    return static_cast<double>(value) / static_cast<double>(one);
}

// Order matters: the same numbers in other places give another digest.
std::uint64_t digest_of(std::span<const Number> numbers);

}  // namespace deadrank::sim
