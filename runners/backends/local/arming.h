// runners/backends/local/arming.h — Prepares a plan's faults for real processes, and reports what these
// cannot play before any is started.
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
    std::vector<results::Mark> marks;  // of faults that are applied before the job starts
    std::string hook_plan;             // JSON: settings, faults and seams, as the hook reads them
};

// Errors: unsupported (a lever that real processes lack, a target that the hook cannot reach).
scenarios::Result<Arming> arm(const scenarios::Plan& plan, const Subject& subject,
                              const std::filesystem::path& checkpoints, LocalLevers& levers);

// ── What real processes cannot play of a plan, reported before any is started.

// True for a value or block that the hook finds in every PyTorch program, or that this one shows.
bool shows(const Subject& subject, std::string_view name);

// Errors: unsupported, for a value or block that the program does not show.
scenarios::Result<void> check_shown(const std::vector<HookPull>& pulls, const Subject& subject);

// Errors: unsupported, for a call or a place in the program that a hook cannot see.
scenarios::Result<void> check_moment(const scenarios::Trigger& when, const Subject& subject);

// Whether the subject's program has an argument for this value of a workload's setting.
bool takes_setting(const Manifest& manifest, const std::string& name, const scenarios::Value& value);

// Errors: unsupported, for a workload setting that the program lacks, or a variable that only NCCL reads:
// harmless to play, but the result says nothing about the scenario.
scenarios::Result<void> check_plan_applies(const scenarios::Plan& plan, const Manifest& manifest);

}  // namespace deadrank::runners
