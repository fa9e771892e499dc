// runners/commands/find/sweep_program.h — deadrank sweep -- torchrun … train.py: each fault at each rank and
// moment of a program of the user's.
#pragma once

#include <string>
#include <vector>

#include "runners/commands/program_options.h"

namespace deadrank::runners::commands {

struct ProgramSweepArguments {
    ProgramOptions program;
    std::vector<std::string> faults;  // empty = kill
    std::string moments = "calls";    // words of explore::MomentKind
    std::vector<std::int64_t> ranks, steps;
    std::vector<std::string> accepted;  // outcomes that do not fail the sweep
    std::size_t orders = 0;  // not 0: no faults, but so many orders of what may come in any order
    std::string html, junit, table;
    bool json = false;
    int jobs = 0;
};
const std::vector<std::string>& outcome_words();  // of `accepted`

void sweep_program(const ProgramSweepArguments& arguments, Session& session);
void sweep_orders(const ProgramSweepArguments& arguments, Session& session);

}  // namespace deadrank::runners::commands
