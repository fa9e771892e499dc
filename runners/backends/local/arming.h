// runners/backends/local/arming.h — A plan's faults made ready for real processes, and what of a plan they
// would leave out, told before any is started.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
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

// What of a plan real processes would leave out, told before any is started.

// A value or block that the hook finds in every PyTorch program, or that this one shows.
bool shows(const Subject& subject, std::string_view name);

// Errors: unsupported, for a value or block that the program does not show.
scenarios::Result<void> check_shown(const std::vector<HookPull>& pulls, const Subject& subject);

// Errors: unsupported, for a call or a place of the program that a hook never sees coming.
scenarios::Result<void> check_moment(const scenarios::Trigger& when, const Subject& subject);

// A setting of the workload that the program has not, or a variable that only NCCL reads: harmless to play,
// but what follows says nothing about the scenario. Errors: unsupported.
scenarios::Result<void> nothing_left_out(const scenarios::Plan& plan, const Manifest& manifest);

}  // namespace deadrank::runners
