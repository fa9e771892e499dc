// results/importers/stamp.h — Times of day and dates in logs.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace deadrank::results::importers {

struct Stamp {
    std::int64_t at = -1;  // nanoseconds since 1970
    std::size_t size = 0;  // characters read
    bool dated = false;    // the year was written, not taken from elsewhere
};

// "2026-01-31T10:00:00.5Z", "2026/01/31 10:00:00", "01/31/2026, 10:00:00 AM", "Sat Jan 31 10:00:00 2026",
// "Jan 31 10:00:00", "0131 10:00:00.5" and "131 10:00:00.5"; `year` is for those that name none.
std::optional<Stamp> read_stamp(std::string_view text, int year);
int year_of(std::int64_t at);

}  // namespace deadrank::results::importers
