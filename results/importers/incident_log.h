// results/importers/incident_log.h — Log files of any mixture: NCCL's lines, c10d's, launchers' and
// schedulers', the kernel's, and tracebacks, which have no time of their own.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "results/importers/story.h"
#include "results/importers/text_source.h"

namespace deadrank::results::importers {

// What a file's path may say about its content.
struct LogPlace {
    Rank rank = no_rank;  // "rank_3.log", "attempt_0/3/stderr.log"
    std::string host;     // "kernel/node1.log", "nccl/node1.1004.log"
    int year = 1970;      // when the file was written: for stamps without a year
};

// What the file was: "NCCL log", "kernel log", …; "text" when no line was recognised. `tick` is called at
// intervals with the bytes read.
std::string read_log(TextSource& source, const LogPlace& place, Story& story,
                     const std::function<void(std::int64_t)>& tick);

}  // namespace deadrank::results::importers
