// runners/learn/challenge.h — A question with a checkable answer.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "results/record/time.h"

namespace deadrank::runners::learn {

// How an answer was read. One that is no answer to the question counts neither way; `help` says what would be.
struct Reply {
    enum Sense { right, wrong, unclear } sense = unclear;
    std::string help;
};

// A letter if there are choices, else numbers: ranks, nodes, or a step.
struct Challenge {
    std::string asks;
    std::vector<std::string> choices;
    std::vector<std::int32_t> numbers;  // the ranks or nodes that the answer must name, all of them
    std::size_t choice = 0;             // index of the right one
    std::int32_t lowest = 0, highest = 1'000'000;  // of numbers that make sense

    Reply read(std::string_view answer) const;
    std::string solution() const;  // "3", "b: …"
};

}  // namespace deadrank::runners::learn
