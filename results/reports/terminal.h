// results/reports/terminal.h — What a run prints on a terminal: a line per scenario, a block per failure, a
// table at the end, and events as one line each.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/judging/case.h"
#include "results/judging/scorecard.h"
#include "results/record/evidence.h"
#include "results/reports/style.h"
#include "scenarios/model/enum_words.h"

namespace deadrank::results::reports {

// ── A summary for people: one line per scenario, a block for each failure, the scorecard.

// All cases of one scenario, one per seed, in one line: what was noticed, about whom, how soon.
// `name_columns`: where the names end, so that a run's lines are aligned.
std::string scenario_line(const std::vector<Case>& seeds, std::size_t name_columns, const Style& style);

// A case that did not pass: how to reproduce it, then blame, then evidence. Ends with a newline.
std::string failure_block(const Case& one, const Style& style);

// Columns for outcomes that did not occur are left out.
std::string scorecard_table(const Scorecard& card, const std::string& title, const Style& style);

// "33 pass · 0 fail · 0 unknown · control quiet 33/33 · healed quiet 33/33 · 1.4 s"
std::string last_line(const Scorecard& card, double seconds, const Style& style);

std::string verdict_mark(Verdict verdict, const Style& style);  // ✔ ✘ ?

// ── How to reproduce a case: the commands that every report begins with.

// The `runner` of a case that was judged from files, not played.
inline constexpr std::string_view from_files = "files";

// A word quoted for a shell, or as it is if it needs no quotes.
std::string shell_quoted(const std::string& word);

// "deadrank replay TOKEN" if there is a token, and the run that makes the same draws from the catalog.
std::vector<std::string> list_repeat_commands(const Case& one);

// ── Events as one line each, and the log lines worth showing.

// One event in a reader's words, on one line: " 1.334100 s  rank 0  rank.exit code -9, signal 9".
// Fields that say nothing (empty texts, counters at -1) are left out; a long text is cut at 72 columns.
std::string event_text(const Evidence& evidence, const Event& event);

// The same without time and rank: "rank.exit code -9, signal 9".
std::string event_content(const Evidence& evidence, const Event& event);

// Only its fields: "code -9, signal 9".
std::string fields_text(const Evidence& evidence, const Event& event);

// ── What ranks wrote and the machine reported about them, as lines. The same line from several ranks at
// about one time is one line; of very many the first, the last and the errors stay.

enum class LogSource : std::uint8_t { rank, launcher, exit_status, kernel_log };
constexpr auto enum_words(LogSource) {
    return std::to_array<std::string_view>({"", "launcher", "exit status", "kernel log"});
}

struct LogLine {
    Time at{0};
    int level = 0;  // 0 info, 1 warning, 2 error
    LogSource source = LogSource::rank;
    std::string text;
    std::vector<Rank> ranks;  // ascending; empty = the job
};

struct LogLines {
    std::vector<LogLine> lines;
    std::size_t left_out = 0;
};
LogLines log_lines(const Evidence& evidence, std::size_t lines_most);

}  // namespace deadrank::results::reports
