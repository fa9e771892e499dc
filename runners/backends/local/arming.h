// runners/backends/local/arming.h — A plan's faults made ready for real processes: settings for the start,
// and a file for the hook.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "inject/core/fault.h"
#include "results/record/truth.h"
#include "runners/backends/local/local_levers.h"
#include "runners/backends/local/local_subject.h"

namespace deadrank::runners {

struct Arming {
    std::vector<inject::PlannedFault> faults;
    std::vector<results::Mark> marks;  // of faults that are done with before the job starts
    std::string hook_plan;             // JSON: settings, faults and seams, as the hook reads them
};

// Errors: unsupported (a lever that real processes have not, an aim that the hook cannot take).
scenarios::Result<Arming> arm(const scenarios::Plan& plan, const Subject& subject,
                              const std::filesystem::path& checkpoints, LocalLevers& levers);

}  // namespace deadrank::runners
