// scenarios/model/chance.h — Counter-based random numbers: a value is a function of seed, purpose and index,
// without shared state.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::scenarios {

// ── The arithmetic of every draw: a value is a function of its names alone, in integers. Plans and the
// simulated world share it, so no value may ever change.

inline constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15u;

// The finaliser of splitmix64: a bijection whose every output bit depends on every input bit.
constexpr std::uint64_t mix(std::uint64_t x) {
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

// FNV-1a: a name as a number, the same on every machine.
constexpr std::uint64_t number_of(std::string_view name) {
    std::uint64_t value = 0xcbf29ce484222325u;
    for (const char letter : name) value = (value ^ static_cast<unsigned char>(letter)) * 0x100000001b3u;
    return value;
}

// `value` brought into [0, bound), without the bias of a remainder, by multiplication with rejection (Lemire,
// "Fast Random Integer Generation in an Interval"). A rejected value is mixed again, so that the draw still
// depends on nothing but its names. `bound` is at least 1.
constexpr std::uint64_t bounded(std::uint64_t value, std::uint64_t bound) {
    CHECK(bound > 0);
    __extension__ using Wide = unsigned __int128;
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

// The same in [low, high], both ends included.
constexpr std::int64_t bounded_between(std::uint64_t value, std::int64_t low, std::int64_t high) {
    CHECK(low <= high);
    const std::uint64_t width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const std::uint64_t offset = width == UINT64_MAX ? value : bounded(value, width + 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

// Draws while resolving: value = f(seed, scenario, name of the setting, n), in integers only. No stream is
// shared, so adding a setting to a scenario changes no other draw.
class Draw {
public:
    // `purpose` names the setting: "fault.0.rank".
    Draw(std::uint64_t seed, std::string_view entity, std::string_view purpose);

    std::uint64_t at(std::uint64_t n) const;
    std::uint64_t below(std::uint64_t n, std::uint64_t bound) const;  // uniform in [0, bound); bound is not 0
    std::int64_t between(std::uint64_t n, std::int64_t low, std::int64_t high) const;  // both ends included

    // `count` different ones of `candidates`, in ascending order; there must be enough.
    std::vector<std::int64_t> some(std::vector<std::int64_t> candidates, std::size_t count) const;

private:
    std::uint64_t key_;
};

}  // namespace deadrank::scenarios
