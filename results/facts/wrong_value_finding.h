// results/facts/wrong_value_finding.h — One finding for all ranks on which a quantity went wrong at
// the same step.
#pragma once

#include <optional>

#include "results/facts/values.h"
#include "results/record/evidence.h"
#include "results/record/finding.h"

namespace deadrank::results::detectors {

// The first step with such a value; nothing when there is none of that origin, or one of another came before.
std::optional<Finding> first_wrong(const Evidence& evidence, Origin origin);

}  // namespace deadrank::results::detectors
