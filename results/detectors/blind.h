// results/detectors/blind.h — What no detector could see in a program, and what it would take.
#pragma once

#include <string>
#include <vector>

#include "results/record/evidence.h"

namespace deadrank::results {

// Of a job that trained: one sentence for each detector that had nothing to read, with the lines of a
// manifest that would give it that where there are such. Empty for a job that took no step, or of one rank.
std::vector<std::string> blind_spots(const Evidence& evidence);

}  // namespace deadrank::results
