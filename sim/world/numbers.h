// sim/world/numbers.h — Arithmetic in fixed point, the same on every compiler.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "sim/world/comm.h"

namespace deadrank::sim {

// ── Numbers with 16 fractional bits in 64: sums are exact, so every layout gives the same result. What
// leaves the range saturates and counts as infinite; a loss that saturated is printed as Inf.

__extension__ typedef __int128 Wide;

inline constexpr int fraction_bits = 16;
inline constexpr Number one = Number{1} << fraction_bits;
inline constexpr Number infinite = Number{1} << 61;
inline constexpr Number not_a_number =
    INT64_MIN;  // of programs and reductions; all else has infinities alone

constexpr Number saturate(Wide value) {
    if (value >= infinite) return infinite;
    if (value <= -infinite) return -infinite;
    return static_cast<Number>(value);
}

constexpr Number saturate(Number value) {
    // Both bounds at once: what is below the lower one wraps round.
    const auto above_least = static_cast<std::uint64_t>(value) + static_cast<std::uint64_t>(infinite);
    if (above_least <= 2 * static_cast<std::uint64_t>(infinite)) [[likely]]
        return value;
    return value < 0 ? -infinite : infinite;
}

// Numbers that fit into 64 bits, as nearly all do, are not widened.
constexpr Number plus(Number a, Number b) {
    Number sum = 0;
    if (__builtin_add_overflow(a, b, &sum)) return saturate(Wide{a} + b);
    return saturate(sum);
}
constexpr Number times(Number a, Number b) {
    Number product = 0;
    if (__builtin_mul_overflow(a, b, &product)) return saturate((Wide{a} * b) >> fraction_bits);
    return product >> fraction_bits;
}

// value × numerator / denominator, rounded toward zero; a denominator of 0 saturates, as 1/0 would, and what
// is infinite stays so.
constexpr Number scaled(Number value, std::int64_t numerator, std::int64_t denominator) {
    if (denominator == 0 || value >= infinite || value <= -infinite) return value < 0 ? -infinite : infinite;
    Number product = 0;
    if (__builtin_mul_overflow(value, numerator, &product) || denominator == -1)
        return saturate(Wide{value} * numerator / denominator);
    return saturate(product / denominator);
}

// For events and people only, never for decisions.
inline double shown(Number value) {
    if (value == not_a_number) return std::numeric_limits<double>::quiet_NaN();
    if (value >= infinite) return std::numeric_limits<double>::infinity();
    if (value <= -infinite) return -std::numeric_limits<double>::infinity();
    return static_cast<double>(value) / static_cast<double>(one);
}

// Order matters: the same numbers in other places give another digest.
std::uint64_t digest_of(std::span<const Number> numbers);

}  // namespace deadrank::sim
