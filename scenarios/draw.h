// scenarios/draw.h — Chance of a plan: each draw is a function of seed, scenario and the path of the setting
// alone. Adding or taking away a setting leaves every other draw as it was; that is what makes shrinking and
// replay work.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace deadrank::scenarios {

class Draw {
public:
    Draw(std::uint64_t seed, std::string_view scenario);

    // Uniform in [0, bound), bound > 0.
    std::uint64_t below(std::string_view path, std::uint64_t bound, std::uint64_t index = 0) const;

    // `count` different numbers of the given ones, ascending.
    std::vector<std::int64_t> some_of(std::string_view path, std::vector<std::int64_t> from,
                                      std::size_t count) const;

private:
    std::uint64_t base_;
};

}  // namespace deadrank::scenarios
