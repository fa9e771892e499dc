// runners/backends/local/time_limits.h — How long a real job may take, how long its silence is watched, and
// when this machine was too slow to tell.
#pragma once

#include <cstdint>
#include <string>

#include "runners/backends/local/manifest.h"
#include "runners/backends/process/launch.h"
#include "runners/runner/runner.h"

namespace deadrank::runners {

// The collective time-out that is played, in nanoseconds; 0 = the program's own, which is not known. A note
// says where it is not the plan's.
std::int64_t timeout_of(const scenarios::Plan& plan, const Manifest& manifest, Record& record);

// What bounds the job in time and in bytes written; what it runs is added later.
LaunchSpec launch_spec(const scenarios::Plan& plan, const Manifest& manifest, results::Time timeout);

// Empty, or why nothing can be said of a job that we had to end.
std::string too_slow(const Launched& launched);

}  // namespace deadrank::runners
