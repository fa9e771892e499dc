// runners/backends/sim/python_play.h — Plays scenarios whose workload is a program of Python: the program is
// written to a directory of the run's own, and its ranks are real processes.
#pragma once

#include <memory>

#include "runners/backends/process/simulated_gpus.h"
#include "runners/backends/sim/managed_runner.h"

namespace deadrank::runners {

// An interpreter with torch, without a command. Errors: environment, for what this machine lacks.
scenarios::Result<ManagedSettings> python_settings(const SimulatedGpus& gpus = {});

// Errors: environment; those of ManagedRunner::run.
scenarios::Result<Record> play_python(const scenarios::Plan& plan, const RunOptions& options,
                                      const inject::FaultCatalog& faults, std::shared_ptr<WarmPython> warm);

}  // namespace deadrank::runners
