// sim/engine/rng.h — Chance without state: value = f(seed, entity, purpose, n), in integers only.
// Taking one draw away, or adding one elsewhere, leaves every other value alone; that is what makes shrinking
// work.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "scenarios/model/chance.h"

namespace deadrank::sim {

using scenarios::golden_ratio;
using scenarios::mix;

// The draw under everything here; Chance adds purpose and incarnation to it.
constexpr std::uint64_t draw(std::uint64_t seed, std::uint64_t entity, std::uint64_t n) {
    return mix(mix(seed + golden_ratio * entity) + golden_ratio * n);
}

// What a draw is for. Two purposes of one entity share nothing. Built from a name at compile time.
struct Purpose {
    std::uint64_t value = 0;

    constexpr Purpose(std::string_view name) : value(scenarios::number_of(name)) {}
    constexpr Purpose(const char* name) : Purpose(std::string_view(name)) {}
};

// What draws. A restarted rank is another incarnation and sees other values than in its first life.
struct Entity {
    std::uint32_t id = 0;
    std::uint32_t incarnation = 0;
};

// A seed may be split by name: the parts are independent, and naming a new part moves no old one.
struct Seed {
    std::uint64_t value = 0;

    constexpr Seed split(Purpose name) const { return {draw(value, name.value, 0)}; }
    constexpr Seed split(Purpose name, std::uint64_t index) const {
        return {draw(value, name.value, index + 1)};
    }
    bool operator==(const Seed&) const = default;
};

// Every value that one entity may draw for one purpose. `n` is the caller's own counter: a step, a message
// number.
class Chance {
public:
    constexpr Chance(Seed seed, Entity entity, Purpose purpose)
        : key_(draw(seed.value, purpose.value, entity.id | std::uint64_t{entity.incarnation} << 32)) {}

    constexpr std::uint64_t at(std::uint64_t n) const { return mix(key_ + golden_ratio * n); }

    // Uniform in [0, bound), without the bias of a remainder. `bound` is at least 1.
    std::uint64_t below(std::uint64_t n, std::uint64_t bound) const;

    // Uniform in [low, high], both ends included.
    std::int64_t between(std::uint64_t n, std::int64_t low, std::int64_t high) const;

    // True in `part` of `whole` cases: ratio(n, 1, 4) is one in four.
    bool ratio(std::uint64_t n, std::uint64_t part, std::uint64_t whole) const {
        return below(n, whole) < part;
    }

    // One of the choices, which are not empty.
    template <class T>
    T& pick(std::uint64_t n, std::span<T> choices) const {
        return choices[static_cast<std::size_t>(below(n, choices.size()))];
    }

private:
    std::uint64_t key_;
};

}  // namespace deadrank::sim
