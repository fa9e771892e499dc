// scenarios/draw.cpp — splitmix64's finaliser over seed, entity and purpose; bounded by multiplication with
// rejection (Lemire, "Fast Random Integer Generation in an Interval").
#include "scenarios/draw.h"

#include <algorithm>
#include <utility>

#include "scenarios/check.h"

namespace deadrank::scenarios {

namespace {

constexpr std::uint64_t golden_ratio = 0x9e3779b97f4a7c15u;

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

}  // namespace

Draw::Draw(std::uint64_t seed, std::string_view entity, std::string_view purpose)
    : key_(mix(mix(seed + golden_ratio * number_of(entity)) + golden_ratio * number_of(purpose))) {}

std::uint64_t Draw::at(std::uint64_t n) const { return mix(key_ + golden_ratio * n); }

std::uint64_t Draw::below(std::uint64_t n, std::uint64_t bound) const {
    CHECK(bound > 0);
    __extension__ using Wide = unsigned __int128;
    std::uint64_t value = at(n);
    Wide product = Wide{value} * bound;
    // A rejected value is mixed again, so that the draw still depends on nothing but its names.
    while (static_cast<std::uint64_t>(product) < bound &&
           static_cast<std::uint64_t>(product) < -bound % bound) {
        value = mix(value + golden_ratio);
        product = Wide{value} * bound;
    }
    return static_cast<std::uint64_t>(product >> 64);
}

std::int64_t Draw::between(std::uint64_t n, std::int64_t low, std::int64_t high) const {
    CHECK(low <= high);
    const std::uint64_t width = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low);
    const std::uint64_t offset = width == UINT64_MAX ? at(n) : below(n, width + 1);
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + offset);
}

std::vector<std::int64_t> Draw::some(std::vector<std::int64_t> candidates, std::size_t count) const {
    CHECK(count <= candidates.size());
    for (std::size_t i = 0; i < count; ++i) {
        std::swap(candidates[i], candidates[i + below(i, candidates.size() - i)]);
    }
    candidates.resize(count);
    std::sort(candidates.begin(), candidates.end());
    return candidates;
}

}  // namespace deadrank::scenarios
