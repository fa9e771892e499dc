// runners/backends/local/local_harvest.h — From what a real run left behind to evidence and truth.
#pragma once

#include <filesystem>

#include "inject/core/trigger.h"
#include "runners/backends/local/arming.h"
#include "runners/backends/process/launch.h"
#include "runners/runner/runner.h"

namespace deadrank::runners {

struct Harvest {
    const scenarios::Plan& plan;
    const Launched& launched;
    const Arming& arming;
    const LocalLevers& levers;
    const Manifest& manifest;
    results::Time timeout;            // what bounds a wait in it; 0 = unknown
    std::filesystem::path directory;  // evidence/, truth/ and logs/ lie below
};

// Adds to the record. Unreadable lines are counted in its notes, never fatal: killed processes leave torn
// ones.
void gather(const Harvest& harvest, Record& record);

}  // namespace deadrank::runners
