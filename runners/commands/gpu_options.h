// runners/commands/gpu_options.h — --gpus and --gpu: a machine of simulated GPUs for a program of the user's.
#pragma once

#include <CLI/CLI.hpp>

#include "runners/backends/process/simulated_gpus.h"

namespace deadrank::runners::commands {

void add_gpus(CLI::App& command, SimulatedGpus& gpus);

}  // namespace deadrank::runners::commands
