// runners/backends/local/release_job.h — A plan on published releases: its program with the fixed release on
// the path, the release with the bug for the ranks that a fault gives it, and whether the bug was seen.
#pragma once

#include <map>
#include <string>

#include "results/record/record.h"
#include "runners/backends/local/manifest.h"
#include "runners/backends/process/launch.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners {

bool plays_a_release(const scenarios::Plan& plan);

// Errors: environment, where a release is not on this machine: a run fetches nothing.
scenarios::Result<Manifest> release_subject(const scenarios::Plan& plan);

// "torchmetrics==1.3.2" → its directory: what skew_version may give to a rank.
std::map<std::string, std::string> release_overlays(const scenarios::Plan& plan);

// The bug must happen in the faulty run, and nowhere else: else nothing that followed proves anything.
// Errors: environment, with what was looked for.
scenarios::Result<void> check_release(const scenarios::Plan& plan, const Launched& launched,
                                      const Record& record);

}  // namespace deadrank::runners
