// runners/backends/gpu_rank/agent.h — The launcher of a GPU job: starts a keeper for each rank, and does what
// the plan's launcher does when one fails.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include "runners/backends/ranks/keeper.h"

namespace deadrank::runners {

struct AgentJob {
    std::filesystem::path directory;  // of the run
    results::Rank ranks = 1, ranks_per_node = 1;
    std::string launcher;  // torchrun, mpirun, bare
};

// Returns the job's exit code; in each rank's own process, that rank's.
int lead(const AgentJob& job, const std::function<int(results::Rank, const Keeper&)>& live);

}  // namespace deadrank::runners
