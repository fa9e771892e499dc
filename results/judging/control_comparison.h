// results/judging/control_comparison.h — Compares a run with its control: same results, time and memory?
#pragma once

#include <string>

#include "results/record/evidence.h"

namespace deadrank::results {

// Takes a run with a fault, and the same run without. Returns a sentence that the fault had no effect, with
// the kinds of events that differ nevertheless. Empty if results, time or memory differ.
std::string explain_missing_effect(const Evidence& run, const Evidence& control);

}  // namespace deadrank::results
