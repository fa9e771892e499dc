// results/record/time.h — Time of a run, in integer nanoseconds since the job began: virtual in the
// simulator, monotonic elsewhere.
#pragma once

#include <chrono>
#include <cstdint>

namespace deadrank::results {

using Time = std::chrono::nanoseconds;
using Rank = std::int32_t;

inline constexpr Rank no_rank = -1;  // the job as a whole: the launcher, a node, a link
inline constexpr Time never = Time::max();

}  // namespace deadrank::results
