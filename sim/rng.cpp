// sim/rng.cpp — Bounded draws by multiplication with rejection (Lemire, "Fast Random Integer Generation in an
// Interval"). A rejected draw is mixed again, so that a value still depends on nothing but (seed, entity,
// purpose, n).
#include "sim/rng.h"

#include "scenarios/check.h"

namespace deadrank::sim {

__extension__ using Wide = unsigned __int128;

std::uint64_t Chance::below(std::uint64_t n, std::uint64_t bound) const {
    CHECK(bound > 0);
    std::uint64_t value = at(n);
    Wide product = Wide{value} * bound;
    if (static_cast<std::uint64_t>(product) < bound) {
        const std::uint64_t biased = -bound % bound;
        while (static_cast<std::uint64_t>(product) < biased) {
            value = mix(value + golden_ratio);
            product = Wide{value} * bound;
        }
    }
    return static_cast<std::uint64_t>(product >> 64);
}

std::int64_t Chance::between(std::uint64_t n, std::int64_t low, std::int64_t high) const {
    CHECK(low <= high);
    const std::uint64_t width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const std::uint64_t offset = width == UINT64_MAX ? at(n) : below(n, width + 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

}  // namespace deadrank::sim
