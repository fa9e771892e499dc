// results/record/believed_ranks.h — How many ranks evidence may name. Every reader of evidence has lists of
// all ranks, so that two events about rank 9,999,999 would cost gigabytes.
#pragma once

#include <algorithm>
#include <cstdint>

namespace deadrank::results {

constexpr std::int64_t most_ranks = 10'000'000;  // as in a scenario

// The most ranks that so many events may imply: four for each, and 262,144 in any case.
constexpr std::int64_t ranks_believed(std::int64_t events) {
    constexpr std::int64_t always = 1 << 18, for_an_event = 4;
    return std::clamp(for_an_event * events, always, most_ranks);
}

}  // namespace deadrank::results
