// results/importers/wrapping.h — What launchers and collectors put before a program's own line: who printed
// it, where and when. "(Worker pid=7, ip=10.0.0.2) [rank3]: text" is `text` of rank 3, pid 7, at 10.0.0.2.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "results/importers/stamp.h"
#include "results/importers/story.h"

namespace deadrank::results::importers {

// Numbers and names before a line mean a rank or a host only where the whole file has them.
struct Habit {
    bool numbered = false;         // "[1860] text": lines are counted
    bool ranked_brackets = false;  // "[3] text" of mpiexec -prepend-rank
    bool ranked_colons = false;    // "3: text" of srun --label
    bool hosts = false;            // "node12: text" of pdsh, "node12:3: text"
};
Habit habit_of(std::string_view head);

struct Unwrapped {
    std::string_view text;
    std::string source;  // names the stream that the line belongs to: lines of one stream stay together
    Rank rank = no_rank;
    Rank local = no_rank;  // "[default3]:"
    std::string host;
    std::int32_t pid = 0;
    std::int64_t at = no_time;
    bool dated = false;
    bool raylet = false;  // said by Ray about one of its workers
};

// `line` is cleaned in place (colours, backspaces); what comes back points into it.
Unwrapped unwrap(std::string& line, const Habit& habit, int year);

}  // namespace deadrank::results::importers
