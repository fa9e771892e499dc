// runners/commands/program_options.h — What the commands that explore a program of the user's share: the
// command behind `--`, ranks, seed, simulated GPUs, and the faults as lines.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runners/backends/process/simulated_gpus.h"
#include "runners/backends/sim/managed_runner.h"
#include "results/reports/page.h"
#include "runners/commands/command.h"
#include "runners/commands/under_test.h"
#include "runners/explore/program_trials.h"
#include "runners/pipeline/workers.h"

namespace deadrank::runners::commands {

struct ProgramOptions {
    std::vector<std::string> command;  // behind `--`
    std::int64_t ranks = 0;            // 0: as the command says
    std::int64_t nodes = 0;            // over which they are spread evenly; 0: as the command says
    std::uint64_t seed = 1;
    SimulatedGpus gpus;
    std::int64_t real_limit = real_limit_usual, compute = 0;
};
void add_program_options(CLI::App& command, ProgramOptions& options);

// The program on the simulated cluster, and its plan without any fault.
struct OpenedProgram {
    ManagedSettings settings;
    scenarios::Plan healthy;
    MakeRunner make_runner;
};
// Errors: usage, without a command or with one that cannot be played; environment, without torch.
scenarios::Result<OpenedProgram> open_program(const ProgramOptions& options, const Extension& extension);

// Plays the program, with the lines of Python that its ranks are at as evidence.
std::unique_ptr<Runner> make_telling_runner(const OpenedProgram& program, const Extension& extension);

// Errors: unsupported, with the first difference, if two healthy runs of the program differ.
scenarios::Result<void> check_repeats(explore::ProgramTrials& trials, Runner& runner,
                                      const OpenedProgram& program, const Extension& extension);

// "deadrank inject --seed 7 --ranks 4 'kill rank 1' -- torchrun train.py": quoted for a shell.
std::string command_line(std::string_view verb, const ProgramOptions& options,
                         const std::vector<std::string>& faults);

// Refuses a fault of these lines that would change nothing in this program, whose run would count as good. Errors:
// usage.
scenarios::Result<void> check_effect(const std::vector<std::string>& lines, const ProgramOptions& options,
                                     const scenarios::Vocabulary& vocabulary);

// A line that read_fault_expression() refused: the error, and the line with a caret below the wrong word.
void complain_of_line(Session& session, const scenarios::Error& error, const std::string& line);

// Adds both runs to a page. `again`: the command that plays them.
void add_to_page(results::reports::Page& page, std::size_t place, const explore::ProgramRun& run,
                 const std::string& title, const std::string& again);

}  // namespace deadrank::runners::commands
