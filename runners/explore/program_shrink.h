// runners/explore/program_shrink.h — The least faults and ranks with which a user's program still ends in the
// same way.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace deadrank::runners::explore {

// What is played: lines as `inject` takes them, a world size, and the nodes over which it is spread evenly.
struct ProgramCase {
    std::vector<std::string> faults;
    std::int64_t ranks = 0, nodes = 1;

    bool operator==(const ProgramCase&) const = default;
};

struct ShrunkProgram {
    ProgramCase least;
    std::size_t tries = 0;
    bool finished = false;  // nothing smaller ends alike; false: stopped, or `tries_max` was reached
};

// `ends_alike` plays a case; false also for one that cannot be played. `from` ends alike. Fewer ranks come
// first, then fewer nodes, then fewer faults, then fewer words of a line, then smaller numbers.
ShrunkProgram shrink_program(const ProgramCase& from, const std::function<bool(const ProgramCase&)>& ends_alike,
                             std::size_t tries_max, const std::function<bool()>& stopped);

}  // namespace deadrank::runners::explore
