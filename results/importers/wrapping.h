// results/importers/wrapping.h — What precedes a program's own line in a log: the prefixes of launchers and
// collectors, which say who printed it and when.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "results/importers/story.h"

namespace deadrank::results::importers {

// Numbers and names before a line mean a rank or a host only where the whole file has them.
struct LinePrefixes {
    bool numbered = false;         // "[1860] text": lines are counted
    bool ranked_brackets = false;  // "[3] text" of mpiexec -prepend-rank
    bool ranked_colons = false;    // "3: text" of srun --label
    bool hosts = false;            // "node12: text" of pdsh, "node12:3: text"
};
LinePrefixes prefixes_of(std::string_view head);

struct Unwrapped {
    std::string_view text;
    std::string source;  // names the stream that the line belongs to: lines of one stream stay together
    Rank rank = no_rank;
    bool task = false;         // the rank is the number of a launcher's task: a guess
    bool mislabelled = false;  // the label of its task is not the rank that the line names
    Rank local = no_rank;      // "[default3]:"
    std::string host;
    std::int32_t pid = 0;
    std::int64_t at = no_time;
    bool dated = false;
    bool raylet = false;  // printed by Ray about one of its workers
};

// `line` is cleaned in place (colours, backspaces); the result points into it.
Unwrapped unwrap(std::string& line, const LinePrefixes& prefixes, int year);

// ── Times of day and dates in logs.

struct Stamp {
    std::int64_t at = -1;  // nanoseconds since 1970
    std::size_t size = 0;  // characters read
    bool dated = false;    // the year was written, not taken from elsewhere
};

// "2026-01-31T10:00:00.5Z", "2026/01/31 10:00:00", "01/31/2026, 10:00:00 AM", "Sat Jan 31 10:00:00 2026",
// "Jan 31 10:00:00", "0131 10:00:00.5" and "131 10:00:00.5"; `year` is for those without one.
std::optional<Stamp> read_stamp(std::string_view text, int year);
int year_of(std::int64_t at);

}  // namespace deadrank::results::importers
