// runners/commands/find/shrink_program.h — deadrank inject --shrink: the least faults and ranks with which the
// program ends in the same way, as a command and as a test.
#pragma once

#include <string>
#include <vector>

#include "runners/commands/program_options.h"
#include "runners/explore/program_shrink.h"

namespace deadrank::runners::commands {

struct MinimalProgram {
    explore::ShrunkProgram shrunk;
    std::string again;  // the command that plays it
    std::string test;   // five lines of Python
};

// Python that plays the program with all of these options, and fails while it ends in this way.
std::string test_text(const ProgramOptions& options, const std::vector<std::string>& faults,
                      explore::Outcome outcome);

// `run`: how the program ended with these faults. Shows progress on stderr.
MinimalProgram shrink_program(const ProgramOptions& options, const std::vector<std::string>& faults,
                              const explore::ProgramRun& run, const Library& library,
                              const Extension& extension);

}  // namespace deadrank::runners::commands
