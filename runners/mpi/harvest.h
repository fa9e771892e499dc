// runners/mpi/harvest.h — From what an MPI job left behind to evidence and truth.
#pragma once

#include <filesystem>

#include "inject/occasion.h"
#include "runners/local/launch.h"
#include "runners/mpi/levers.h"
#include "runners/runner.h"

namespace deadrank::runners {

struct MpiHarvest {
    const scenarios::Plan& plan;
    const Launched& launched;
    const std::vector<inject::PlannedFault>& faults;
    const std::vector<results::Mark>& marks;  // of the start
    const MpiLevers& levers;
    std::filesystem::path directory;
};

void gather(const MpiHarvest& harvest, Record& record);

}  // namespace deadrank::runners
