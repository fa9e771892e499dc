// runners/commands/play/determinism_of_program.h — deadrank replay determinism -- torchrun …: plays a program of the user's
// several times, and names the first event that differs with the line of Python that caused it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runners/backends/process/simulated_gpus.h"
#include "runners/commands/command.h"

namespace deadrank::runners::commands {

struct ProgramRuns {
    std::vector<std::string> command;  // behind --
    std::int64_t ranks = 0;            // 0: as the command says
    std::int64_t real_limit = 120;     // seconds
    int runs = 2;
    std::uint64_t seed = 1;
    SimulatedGpus gpus;
};

// Each run has an interpreter of its own.
void check_program(const ProgramRuns& wanted, Session& session);

}  // namespace deadrank::runners::commands
