// runners/commands/paging.h — From what was played, or read back from files, to the page that shows it.
#pragma once

#include "results/reports/page.h"
#include "runners/line/judge_files.h"
#include "runners/line/line.h"

namespace deadrank::runners::commands {

// `program`: the words that name the program under test on a command line; empty without one.
void add_to_page(results::reports::Page& page, std::size_t place, const scenarios::Scenario& scenario,
                 const Trialled& trial, const std::string& program);

void add_to_page(results::reports::Page& page, std::size_t place, const JudgedRun& judged);

}  // namespace deadrank::runners::commands
