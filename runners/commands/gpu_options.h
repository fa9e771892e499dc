// runners/commands/gpu_options.h — Options of a program of the user's: --gpus and --gpu, a machine of
// simulated GPUs, and
// --real-limit.
#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

#include "runners/backends/process/simulated_gpus.h"

namespace deadrank::runners::commands {

void add_gpus(CLI::App& command, SimulatedGpus& gpus);
void add_real_limit(CLI::App& command, std::int64_t& seconds);

// `--compute`: virtual time that each step of the program's own takes.
void add_compute(CLI::App& command, std::int64_t& nanoseconds);

}  // namespace deadrank::runners::commands
