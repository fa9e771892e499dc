// results/reports/terminal.h — What a run says on a terminal: a line a scenario, a block a failure, a table
// at the end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/judging/case.h"
#include "results/judging/scorecard.h"
#include "results/text/style.h"

namespace deadrank::results::reports {

// A summary for people: one line a scenario, the story of each failure, the scorecard.

// All cases of one scenario, one for each seed, in one line: what was noticed, about whom, how soon.
// `name_columns`: where the names end, so that the lines of a run stand under each other.
std::string scenario_line(const std::vector<Case>& seeds, std::size_t name_columns, const Style& style);

// A case that did not pass: how to see it again, then blame, then evidence. Ends with a newline.
std::string failure_block(const Case& one, const Style& style);

// Columns for outcomes that did not occur are left out.
std::string scorecard_table(const Scorecard& card, const std::string& title, const Style& style);

// "33 pass · 0 fail · 0 unknown · control quiet 33/33 · healed quiet 33/33 · 1.4 s"
std::string last_line(const Scorecard& card, double seconds, const Style& style);

std::string verdict_mark(Verdict verdict, const Style& style);  // ✔ ✘ ?

// How to see a case again: the commands that every report begins with.

// The `runner` of a case that was judged from files, not played.
inline constexpr std::string_view from_files = "files";

// "deadrank replay TOKEN" where there is a token, and the run that makes the same draws from the catalog.
std::vector<std::string> commands_to_see_again(const Case& one);

}  // namespace deadrank::results::reports
