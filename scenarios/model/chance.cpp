// scenarios/model/chance.cpp — Counter-based random numbers: a value is a function of seed, purpose and
// index, without shared state.
#include "scenarios/model/chance.h"

#include <algorithm>
#include <utility>

namespace deadrank::scenarios {

Draw::Draw(std::uint64_t seed, std::string_view entity, std::string_view purpose)
    : key_(mix(mix(seed + golden_ratio * number_of(entity)) + golden_ratio * number_of(purpose))) {}

std::uint64_t Draw::at(std::uint64_t n) const { return mix(key_ + golden_ratio * n); }

std::uint64_t Draw::below(std::uint64_t n, std::uint64_t bound) const { return bounded(at(n), bound); }

std::int64_t Draw::between(std::uint64_t n, std::int64_t low, std::int64_t high) const {
    return bounded_between(at(n), low, high);
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
