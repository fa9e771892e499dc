// scenarios/model/draw.h — Chance while resolving: value = f(seed, scenario, name of the setting, n), in
// integers only. No stream is shared, so adding a setting to a scenario moves no other draw.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace deadrank::scenarios {

class Draw {
public:
    // `purpose` names the setting: "fault.0.rank".
    Draw(std::uint64_t seed, std::string_view entity, std::string_view purpose);

    std::uint64_t at(std::uint64_t n) const;
    std::uint64_t below(std::uint64_t n, std::uint64_t bound) const;  // uniform in [0, bound); bound is not 0
    std::int64_t between(std::uint64_t n, std::int64_t low, std::int64_t high) const;  // both ends included

    // `count` different ones of `candidates`, in ascending order; there are enough.
    std::vector<std::int64_t> some(std::vector<std::int64_t> candidates, std::size_t count) const;

private:
    std::uint64_t key_;
};

}  // namespace deadrank::scenarios
