// results/reports/resilience_table.h — The resilience table in Markdown, and its place in a page.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "results/judging/resilience.h"
#include "results/reports/style.h"
#include "scenarios/model/error.h"

namespace deadrank::results::reports {

// How frameworks handled each bug, as a page of Markdown: a row per scenario, a column per framework and
// version, a command behind each bad cell.

// "PyTorch DDP (torch 2.11.0, debug DETAIL)"; and "≥ 66 s" of a hang, empty where no time was asked for.
std::string framework_text(const Subject& subject);
std::string took_text(const Grade& grade);

// One cell for all runs of a bug and a program, each reaction with its count where they differ; `†` where the
// known reaction was written down after a run. Cells of unknown result are left out, and counted.
std::string resilience_table(const std::vector<ResilienceCell>& standings);

// The page with `table` between its lines "<!-- resilience table -->" and
// "<!-- end of the resilience table -->"; empty if it has no such lines.
std::string between_table_marks(std::string page, std::string_view table);

// Into its place on a page that has one; otherwise as a file of its own. Errors: io; usage (a page that
// people wrote, without that place).
scenarios::Result<void> write_resilience_table(const std::vector<ResilienceCell>& standings,
                                               const std::filesystem::path& file);

// A row per framework, with how many bugs it handled in which way in all of its runs: for a front page. The
// place is between
// "<!-- resilience summary -->" and "<!-- end of the resilience summary -->". Errors as above.
std::string resilience_summary(const std::vector<ResilienceCell>& standings);
scenarios::Result<void> write_resilience_summary(const std::vector<ResilienceCell>& standings,
                                                 const std::filesystem::path& file);

// One cell for people, to print below its scenario: ends with a newline.
std::string standing_line(const ResilienceCell& standing, const Style& style);

// For scripts: adds `subject`, `again` and `stood` to a line of JSON, and reads them back. Errors: io,
// bad_input (with the line; an unfinished last line is skipped).
std::string with_standing(const std::string& json_line, const ResilienceCell& standing);
scenarios::Result<std::vector<ResilienceCell>> read_standings(const std::filesystem::path& file);

// A page that people write, with a place that a command fills: between two lines that Markdown takes for
// comments.

struct PagePlace {
    std::string_view begin, end;
    std::string_view written_by;  // a file that begins with this line belongs to the command as a whole
};

// The page with `text` in its place; empty if it has no such place.
std::string in_place(std::string page, const PagePlace& place, std::string_view text);

// Into its place on a page that has one; otherwise as a file of its own. Errors: io; usage (a page that
// people wrote, without that place).
scenarios::Result<void> write_in_place(const std::string& text, const PagePlace& place,
                                       const std::filesystem::path& file);

// Text in a cell: nothing that Markdown would interpret.
std::string plain_cell(std::string text);

}  // namespace deadrank::results::reports
