// results/analysis/step_reached.h — Which step a process had come to when it ended or stood still.
#pragma once

#include <cstdint>
#include <optional>

#include "results/record/evidence.h"

namespace deadrank::results::analysis {

// The step that a process was in, or was about to begin, when it ended or stood still. A rank that ended step 4, did
// nothing since, and is missed by ranks in step 5 did not reach step 5.
std::optional<std::int64_t> step_reached(const Evidence& evidence, Rank process, Time time);

}  // namespace deadrank::results::analysis
