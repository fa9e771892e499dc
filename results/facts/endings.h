// results/facts/endings.h — How a job ended: whether its ranks agreed to stop before the configured steps
// were done.
#pragma once

#include "results/record/evidence.h"

namespace deadrank::results::detectors {

// All ranks that call others left with success in the middle of one and the same step, right after they had
// met in a call, or had exchanged a flag or saved in the step before: they agreed to stop early. Data that
// ends does so between steps, and whoever leaves alone, or in another step, asked nobody.
bool agreed_to_end(const Evidence& evidence);

}  // namespace deadrank::results::detectors
