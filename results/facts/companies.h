// results/facts/companies.h — The steps of ranks that train together, apart from those of others.
#pragma once

#include <vector>

#include "results/facts/paces.h"

namespace deadrank::results::detectors {

// Trials of several settings may run side by side in one job, with other models and other paces, and one
// rank may serve all others without a call. Whom nobody meets in a call delays nobody there. So ranks are
// compared with those alone that they meet in their steps, each company by itself; who meets nobody is left
// out.
//
// Empty if all ranks are one company. So they are where no rank meets another, since then calls were not
// recorded.
std::vector<std::vector<StepPace>> companies_apart(const Evidence& evidence);

}  // namespace deadrank::results::detectors
