// results/emitters/stamps.h — Wall-clock times as other programs write them, and their release numbers.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "results/record/time.h"

namespace deadrank::results::emitters {

std::string c10_stamp(Time at);     // "101 00:01:02.000000003": month without zero, day, time, nanoseconds
std::string glog_stamp(Time at);    // "0101 00:01:02.003000": torchrun's agent, microseconds
std::string nccl_stamp(Time at);    // "2026-01-01 00:01:02"
std::string kernel_stamp(Time at);  // "Thu Jan  1 00:01:02 2026", as dmesg -T
std::string iso_stamp(Time at);     // "2026-01-01T00:01:02Z"

// Nanoseconds since 1970.
std::optional<std::int64_t> read_nccl_stamp(std::string_view text);

// ── Release numbers of the tools whose files we write.

// "2.11.0+cu130" → {2, 11}
inline std::pair<int, int> release(std::string_view words) {
    const std::string text(words);
    char* end = nullptr;
    const long major = std::strtol(text.c_str(), &end, 10);
    const long minor = *end == '.' ? std::strtol(end + 1, nullptr, 10) : 0;
    return {static_cast<int>(major), static_cast<int>(minor)};
}

}  // namespace deadrank::results::emitters
