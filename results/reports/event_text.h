// results/reports/event_text.h — Events as one line each, and the log lines worth showing.
#pragma once

#include <string>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results::reports {

// One event in a reader's words, on one line: " 1.334100 s  rank 0  rank.exit code -9, signal 9".

// Fields that say nothing (empty texts, counters at -1) are left out; a long text is cut at 72 columns.
std::string event_text(const Evidence& evidence, const Event& event);

// Only its fields: "code -9, signal 9".
std::string fields_text(const Evidence& evidence, const Event& event);

// What ranks wrote and what the machine said of them, as lines. A line that several ranks wrote at about one
// time is one line; of very many the first, the last and the errors stay.

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
