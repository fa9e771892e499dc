// runners/backends/local/local_subject.h — A manifest or a published release made ready for one plan: its
// command, and how long it may take and be silent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "results/record/record.h"
#include "runners/backends/local/manifest.h"
#include "runners/backends/process/launch.h"
#include "runners/backends/process/mpirun.h"
#include "runners/runner/runner.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

struct Subject {
    std::vector<std::string> command;          // of one rank, or of the whole job where it starts itself
    bool script = true;                        // the first word is a file for Python
    std::map<std::string, std::string> seams;  // name in a scenario → module.function of the subject
    std::vector<std::string> groups;  // by rank: which ranks must hold the same parameters; or learnt
    std::string samples;              // as the manifest says
};

// What stands behind {here}, {python}, … in a command.
struct Places {
    std::filesystem::path checkpoints;
    std::string python;
    results::Time timeout{0};
};

// The manifest that plays this plan unless one was named. Errors: unsupported, as load_manifest.
scenarios::Result<Manifest> usual_subject(const scenarios::Plan& plan);

// Errors: unsupported (a workload or a setting that the program has not).
scenarios::Result<Subject> subject_for(const scenarios::Plan& plan, const Manifest& manifest,
                                       const Places& places);

// Is what the manifest needs there? Errors: environment, naming the module or the version that there is.
scenarios::Result<void> check_needs(const Manifest& manifest, const Python& python);

// A plan on published releases: its program with the fixed release on the path, the release with the bug for
// the ranks that a fault gives it, and whether the bug was seen.

bool plays_a_release(const scenarios::Plan& plan);

// Errors: environment, where a release is not on this machine: a run fetches nothing.
scenarios::Result<Manifest> release_subject(const scenarios::Plan& plan);

// "torchmetrics==1.3.2" → its directory: what skew_version may give to a rank.
std::map<std::string, std::string> release_overlays(const scenarios::Plan& plan);

// The bug must happen in the faulty run, and nowhere else: else nothing that followed proves anything.
// Errors: environment, with what was looked for.
scenarios::Result<void> check_release(const scenarios::Plan& plan, const Launched& launched,
                                      const Record& record);

// How long a real job may take, how long its silence is watched, and when this machine was too slow to tell.

// The collective time-out that is played, in nanoseconds; 0 = the program's own, which is not known. A note
// says where it is not the plan's.
std::int64_t timeout_of(const scenarios::Plan& plan, const Manifest& manifest, Record& record);

// What bounds the job in time and in bytes written; what it runs is added later.
LaunchSpec launch_spec(const scenarios::Plan& plan, const Manifest& manifest, results::Time timeout);

// Empty, or why nothing can be said of a job that we had to end.
std::string too_slow(const Launched& launched);

}  // namespace deadrank::runners
