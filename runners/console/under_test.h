// runners/console/under_test.h — The programs that --subject or a command behind `--` puts under test, how
// each reacted, and the page that shows it.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "results/judging/resilience.h"
#include "results/reports/page.h"
#include "runners/line/line.h"
#include "runners/line/run_files.h"
#include "runners/line/workers.h"

// The programs that --subject or a command behind `--` puts under test, and how each stood a scenario.
namespace deadrank::runners {
struct Extension;
}

namespace deadrank::runners::commands {

struct SubjectOptions {
    std::vector<std::string> names;    // --subject
    std::vector<std::string> command;  // behind `--`
    std::vector<std::string> debug;    // --debug: each program once with each level
    std::int64_t ranks = 0;            // --ranks; 0 = as the scenario says
};

struct UnderTest {
    std::string words;  // what repeats it: "--ranks 2 --subject ddp"
    MakeRunner make;
};

// Without any subject, the runner alone. Errors: usage, for a runner that plays no programs; as make_runner
// and as subject_named.
scenarios::Result<std::vector<UnderTest>> programs_under_test(const std::string& runner,
                                                              const Extension& extension,
                                                              const SubjectOptions& options);

// A case whose commands name the program under test, and whose token is gone: it does not say which one.
results::Case of_program(results::Case one, const std::string& words);

// Nameless when no real program was under test.
results::ResilienceCell standing_of(const Trialled& trial, const std::string& words);

// `run A --runner local -- torchrun b c` as the parser reads it: each word behind `--` in an option of its
// own.
std::vector<std::string> with_command(int argc, const char* const* argv);

}  // namespace deadrank::runners::commands

namespace deadrank::runners::commands {

// From what was played, or read back from files, to the page that shows it.

// `program`: the words that name the program under test on a command line; empty without one.
void add_to_page(results::reports::Page& page, std::size_t place, const scenarios::Scenario& scenario,
                 const Trialled& trial, const std::string& program);

void add_to_page(results::reports::Page& page, std::size_t place, const JudgedRun& judged);

}  // namespace deadrank::runners::commands
