// results/detectors/settle.h — What detect() needs of settling beyond detector.h: the attempts of a job, and
// the kinds of symptom.
#pragma once

#include <vector>

#include "results/analysis/lives.h"
#include "results/record/finding.h"

namespace deadrank::results {

// As settle(findings), but a failure does not explain another specific failure in a later attempt of the job.
std::vector<Finding> settle(std::vector<Finding> findings, const analysis::Lives& lives);

// A hang or a time-out.
bool is_standstill(const Finding& finding);

// A job that is slow or uneven, but neither broken nor wrong.
bool is_slowness(const Finding& finding);

}  // namespace deadrank::results
