// results/facts/endings.h — How a job ended: whether its ranks agreed to stop before the configured steps
// were done.
#pragma once

#include <cstdint>

#include "results/record/evidence.h"

namespace deadrank::results::detectors {

// All ranks left in the middle of a step, with success and right after they had met in a call of all: they
// agreed to stop early. Data that ends does so between steps, and whoever leaves alone asked nobody.
bool agreed_to_end(const Evidence& evidence, std::int64_t done);

}  // namespace deadrank::results::detectors
