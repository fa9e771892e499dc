// runners/line/compare.h — Where two runs that should be one run part: the first event that differs, in both
// forms.
#pragma once

#include <string>

#include "results/record/evidence.h"

namespace deadrank::runners {

// Empty when they are equal; else a sentence with the event's number and what either run has there.
std::string first_difference(const results::Evidence& then, const results::Evidence& now);

}  // namespace deadrank::runners
