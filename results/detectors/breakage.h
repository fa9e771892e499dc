// results/detectors/breakage.h — What broke in the communication of a job, if anything did: versions
// and variables are reasons, and a reason without a breakage is no alarm.
#pragma once

#include <optional>

#include "results/detectors/detector.h"

namespace deadrank::results::detectors {

// The finding of the first of these that has one: set-up failure, set-up hang, mismatch, time-out, hang.
std::optional<Finding> communication_breakage(const Evidence& evidence);

}  // namespace deadrank::results::detectors
