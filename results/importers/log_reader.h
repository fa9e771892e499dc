// results/importers/log_reader.h — Log files of any mixture: NCCL's lines, c10d's, torchrun's agent, the
// kernel's, and tracebacks, which have no time of their own.
#pragma once

#include <string>
#include <string_view>

#include "results/importers/story.h"

namespace deadrank::results::importers {

// What a file's name may tell of it.
struct LogPlace {
    Rank rank = no_rank;  // "rank_3.log", "attempt_0/3/stderr.log"
    std::string host;     // "kernel/node1.log", "nccl/node1.1004.log"
};

// What the file was: "NCCL log", "kernel log", …; empty when no line of it is known to us.
std::string read_log(std::string_view text, const LogPlace& place, Story& story);

}  // namespace deadrank::results::importers
