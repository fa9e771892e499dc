// runners/backends/ranks/rank_harvest.h — From what a job of real ranks left behind to evidence and truth.
#pragma once

#include <filesystem>

#include "inject/core/trigger.h"
#include "runners/backends/process/launch.h"
#include "runners/backends/ranks/rank_levers.h"
#include "runners/runner/runner.h"

namespace deadrank::runners {

struct RealHarvest {
    const scenarios::Plan& plan;
    const Launched& launched;
    const std::vector<inject::PlannedFault>& faults;
    const std::vector<results::Mark>& marks;  // of the start
    const RealLevers& levers;
    std::filesystem::path directory;
};

void gather(const RealHarvest& harvest, Record& record);

}  // namespace deadrank::runners
