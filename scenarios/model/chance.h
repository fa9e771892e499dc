// scenarios/model/chance.h — The arithmetic under every draw: a value is a function of its names alone, in
// integers. Plans and the simulated world share it; no value may ever change.
#pragma once

#include <cstdint>
#include <string_view>

#include "scenarios/model/check.h"

namespace deadrank::scenarios {

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

}  // namespace deadrank::scenarios
