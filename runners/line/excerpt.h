// runners/line/excerpt.h — The few lines of evidence that a reader of a failure wants first.
#pragma once

#include <string>
#include <vector>

#include "results/judging/judge.h"
#include "results/record/evidence.h"

namespace deadrank::runners {

// A dozen events at most, in order of time: around the fault on the ranks that were to blame, around the
// finding that answered, and the end of the job.
std::vector<std::string> excerpt(const results::Evidence& evidence, const results::Judgement& judgement);

}  // namespace deadrank::runners
