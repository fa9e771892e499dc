// results/reports/event_text.h — One event in a reader's words, on one line: " 1.334100 s  rank 0  rank.exit
// code -9, signal 9".
#pragma once

#include <string>

#include "results/record/evidence.h"

namespace deadrank::results::reports {

// Fields that say nothing (empty texts, counters at -1) are left out; a long text is cut at 72 columns.
std::string event_text(const Evidence& evidence, const Event& event);

// Only its fields: "code -9, signal 9".
std::string fields_text(const Evidence& evidence, const Event& event);

}  // namespace deadrank::results::reports
