// runners/backends/local/paper.h — What of a plan real processes would leave out, told before any is started.
#pragma once

#include <string_view>
#include <vector>

#include "runners/backends/local/local_levers.h"
#include "runners/backends/local/local_subject.h"

namespace deadrank::runners {

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
