// results/emitters/stamps.h — Wall-clock times as each program writes them, and back to a run's time. All are
// UTC.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "results/record/time.h"

namespace deadrank::results::emitters {

std::string c10_stamp(Time at);     // "101 00:01:02.000000003": month without zero, day, time, nanoseconds
std::string glog_stamp(Time at);    // "0101 00:01:02.003000": torchrun's agent, microseconds
std::string nccl_stamp(Time at);    // "2026-01-01 00:01:02"
std::string kernel_stamp(Time at);  // "Thu Jan  1 00:01:02 2026", as dmesg -T
std::string iso_stamp(Time at);     // "2026-01-01T00:01:02Z"

// Nanoseconds since 1970.
std::optional<std::int64_t> read_nccl_stamp(std::string_view text);

}  // namespace deadrank::results::emitters
