// results/reports/log_lines.h — What ranks wrote and what the machine said of them, as lines. A line
// that several ranks wrote at about one time is one line; of very many the first, the last and the errors
// stay.
#pragma once

#include <string>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::reports {

struct LogLine {
    Time at{0};
    int level = 0;  // 0 info, 1 warning, 2 error
    std::string kind, text;
    std::vector<Rank> ranks;  // ascending; empty = the job
};

struct LogLines {
    std::vector<LogLine> lines;
    std::size_t left_out = 0;
};
LogLines log_lines(const Evidence& evidence, std::size_t lines_most);

}  // namespace deadrank::results::reports
