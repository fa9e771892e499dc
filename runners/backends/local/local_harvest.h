// runners/backends/local/local_harvest.h — Turns what a real run left behind into evidence and truth.
#pragma once

#include <filesystem>

#include "inject/core/trigger.h"
#include "runners/backend/runner.h"
#include "runners/backends/local/arming.h"
#include "runners/backends/process/launch.h"

namespace deadrank::runners {

struct Harvest {
    const scenarios::Plan& plan;
    const Launched& launched;
    const Arming& arming;
    const LocalLevers& levers;
    const Manifest& manifest;
    results::Time timeout;            // of its collectives; 0 = unknown
    std::filesystem::path directory;  // holds evidence/, truth/ and logs/
};

// Adds to the record. Unreadable lines are counted in its notes, never fatal: killed processes leave
// truncated ones.
void gather(const Harvest& harvest, Record& record);

}  // namespace deadrank::runners
