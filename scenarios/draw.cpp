// scenarios/draw.cpp — splitmix64 over (seed, scenario, path, index); values that would be biased are drawn
// again.
#include "scenarios/draw.h"

#include <algorithm>

#include "scenarios/check.h"

namespace deadrank::scenarios {

namespace {

constexpr std::uint64_t golden = 0x9e3779b97f4a7c15ull;

constexpr std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

// FNV-1a: the same on every machine.
constexpr std::uint64_t name_hash(std::string_view name) {
    std::uint64_t hash = 0xcbf29ce484222325ull;
    for (const char letter : name) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3ull;
    return hash;
}

}  // namespace

Draw::Draw(std::uint64_t seed, std::string_view scenario)
    : base_(mix(mix(seed * golden + 1) ^ name_hash(scenario))) {}

std::uint64_t Draw::below(std::string_view path, std::uint64_t bound, std::uint64_t index) const {
    CHECK(bound > 0);
    const std::uint64_t limit = bound * (UINT64_MAX / bound);
    std::uint64_t drawn = mix(mix(base_ ^ name_hash(path)) + golden * (index + 1));
    while (drawn >= limit) drawn = mix(drawn + golden);
    return drawn % bound;
}

std::vector<std::int64_t> Draw::some_of(std::string_view path, std::vector<std::int64_t> from,
                                        std::size_t count) const {
    std::vector<std::int64_t> taken;
    for (std::size_t i = 0; i < count && !from.empty(); ++i) {
        const auto at = static_cast<std::ptrdiff_t>(below(path, from.size(), i));
        taken.push_back(from[static_cast<std::size_t>(at)]);
        from.erase(from.begin() + at);
    }
    std::sort(taken.begin(), taken.end());
    return taken;
}

}  // namespace deadrank::scenarios
