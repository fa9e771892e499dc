// runners/backends/gpu_rank/agent.h — The launcher of a GPU job, and what such a job would find on this
// machine.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "runners/backends/ranks/life.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

struct AgentJob {
    std::filesystem::path directory;  // of the run
    results::Rank ranks = 1, ranks_per_node = 1;
    scenarios::LauncherKind launcher = scenarios::LauncherKind::torchrun;
};

// Returns the job's exit code; in each rank's own process, that rank's.
int lead(const AgentJob& job, const std::function<int(results::Rank, const Keeper&)>& live);

// Prints what a job would find on this machine, as one JSON object.
int probe();

// Checks that our kernels compute correctly on this machine.
// Prints the results as one JSON object; 0 = all correct.
int check_kernels();

}  // namespace deadrank::runners
