// runners/backends/local/local_subject.h — A manifest or a published release made ready for one plan: its
// command, and how long it may take and be silent.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "results/record/record.h"
#include "runners/backend/runner.h"
#include "runners/backends/local/manifest.h"
#include "runners/backends/process/launch.h"
#include "runners/backends/process/mpirun.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

struct Subject {
    std::vector<std::string> command;          // of one rank, or of a whole job that starts its own ranks
    bool script = true;                        // the first word is a file for Python
    std::map<std::string, std::string> seams;  // name in a scenario → module.function of the subject
    std::vector<std::string> groups;  // by rank: which ranks hold the same parameters; empty = learnt
    std::string samples;              // as the manifest says
};

// What replaces {checkpoints}, {python} and {timeout} in a command.
struct Places {
    std::filesystem::path checkpoints;
    std::string python;
    results::Time timeout{0};
};

// The manifest that plays this plan unless another was named. Errors: unsupported, and those of
// load_manifest.
scenarios::Result<Manifest> usual_subject(const scenarios::Plan& plan);

// Errors: unsupported (a workload or a setting that the program lacks).
scenarios::Result<Subject> subject_for(const scenarios::Plan& plan, const Manifest& manifest,
                                       const Places& places);

// Checks that what the manifest needs is installed. Errors: environment, naming the module or the version
// found.
scenarios::Result<void> check_needs(const Manifest& manifest, const Python& python);

// A plan on published releases: its program runs on the fixed release, ranks chosen by a fault on the one
// with the bug, and the output shows whether the bug occurred.

bool plays_a_release(const scenarios::Plan& plan);

// Errors: environment, if a release is not on this machine: a run downloads nothing.
scenarios::Result<Manifest> release_subject(const scenarios::Plan& plan);

// "torchmetrics==1.3.2" → its directory: what skew_version may give to a rank.
std::map<std::string, std::string> release_overlays(const scenarios::Plan& plan);

// The bug must show in the faulty run and in no other, or the runs prove nothing. Errors: environment, with
// what was looked for.
scenarios::Result<void> check_release(const scenarios::Plan& plan, const Launched& launched,
                                      const Record& record);

// Time limits of a real job, and whether this machine was too slow to judge it.

// The collective time-out that is played, in nanoseconds; 0 = the program's own, which is unknown. Adds a
// note if it is not the plan's.
std::int64_t timeout_of(const scenarios::Plan& plan, const Manifest& manifest, Record& record);

// The job's limits in time and bytes written; its commands are added later.
LaunchSpec launch_spec(const scenarios::Plan& plan, const Manifest& manifest, results::Time timeout);

// Why a job that we had to end proves nothing; empty = it can be judged.
std::string too_slow(const Launched& launched);

}  // namespace deadrank::runners
