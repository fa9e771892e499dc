// results/reports/resilience_table.h — The resilience table in Markdown, and its place in a page.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "results/judging/resilience.h"
#include "results/text/style.h"
#include "scenarios/model/error.h"

namespace deadrank::results::reports {

// How frameworks stood each bug, as a page of Markdown: a row a scenario, a column a framework in one
// version, a command behind each cell that is bad.

// "PyTorch DDP (torch 2.11.0, debug DETAIL)"; and "≥ 66 s" of a hang, empty where no time was asked for.
std::string framework_text(const Subject& subject);
std::string took_text(const Grade& grade);

// One cell for all runs of a bug and a program, each reaction with its count where they differ; `†` where
// what is known of it was written down after a run. Those that could not be told are left out, and counted.
std::string resilience_table(const std::vector<ResilienceCell>& standings);

// A page whose lines "<!-- resilience table -->" and "<!-- end of the resilience table -->" stand around what
// `table` replaces; empty where it has no such place.
std::string between_table_marks(std::string page, std::string_view table);

// Into its place on a page that has one; a file of its own otherwise. Errors: io; usage (somebody's page
// without the place for it).
scenarios::Result<void> write_resilience_table(const std::vector<ResilienceCell>& standings,
                                               const std::filesystem::path& file);

// A row a framework, with how many bugs it stood in which way, in all of its runs: for a front page. The
// place is between
// "<!-- resilience summary -->" and "<!-- end of the resilience summary -->". Errors as above.
std::string resilience_summary(const std::vector<ResilienceCell>& standings);
scenarios::Result<void> write_resilience_summary(const std::vector<ResilienceCell>& standings,
                                                 const std::filesystem::path& file);

// One of them for people, to stand below its scenario: ends with a newline.
std::string standing_line(const ResilienceCell& standing, const Style& style);

// And for scripts: `subject`, `again` and `stood` added to a line of JSON, and read from it. Errors: io,
// bad_input (with the line; a torn last one is left out).
std::string with_standing(const std::string& json_line, const ResilienceCell& standing);
scenarios::Result<std::vector<ResilienceCell>> read_standings(const std::filesystem::path& file);

// A page that people write, with a place in it that a command fills: between two lines that are comments to
// Markdown.

struct PagePlace {
    std::string_view begin, end;
    std::string_view written_by;  // a file that opens with this line is the command's own, whole
};

// The page with `text` in its place; empty where it has no such place.
std::string in_place(std::string page, const PagePlace& place, std::string_view text);

// Into its place on a page that has one; a file of its own otherwise. Errors: io; usage (somebody's page
// without the place for it).
scenarios::Result<void> write_in_place(const std::string& text, const PagePlace& place,
                                       const std::filesystem::path& file);

// Text in a cell: nothing that Markdown would take for more.
std::string plain_cell(std::string text);

}  // namespace deadrank::results::reports
