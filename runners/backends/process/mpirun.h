// runners/backends/process/mpirun.h — The command line and the environment of mpirun for one job, also as
// root in a container.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runners/backends/process/launch.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

// Errors: unsupported, when this build has no rank program; environment, when there is no mpirun.
scenarios::Result<std::filesystem::path> mpi_rank_program();
scenarios::Result<std::filesystem::path> mpirun_program();

struct MpiJob {
    std::filesystem::path mpirun, rank_program, directory;
    std::int64_t ranks = 1;
    bool bare = false;  // nobody watches over the ranks
};
ChildSpec mpirun_child(const MpiJob& job);

// mpirun and its settings, before the number of ranks and the program.
std::vector<std::string> mpirun_words(const MpiJob& job);

}  // namespace deadrank::runners
