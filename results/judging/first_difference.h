// results/judging/first_difference.h — Where a job that came back began to differ from the run without a fault.
#pragma once

#include <string>

#include "results/record/evidence.h"

namespace deadrank::results {

// "; step 9 is the first that differs: rank 0 drew other random numbers". Empty where the steps since the restart cannot
// be held beside the control's, or nothing that was recorded differs.
std::string first_difference_since_restart(const Evidence& run, const Evidence& control);

}  // namespace deadrank::results
