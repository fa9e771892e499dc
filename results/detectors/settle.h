// results/detectors/settle.h — One event, one finding: of several that describe the same trouble, the one
// nearest to its root stays.
#pragma once

#include <vector>

#include "results/detectors/detector.h"

namespace deadrank::results {

// Keeps what no other finding explains, in order of time. In short: set-up explains all that follows; the
// first failing rank explains later failures; an explicit mismatch beats a time-out, a time-out a hang; of
// wrong values the earliest step; slowness is explained by anything that broke. Findings far apart in time
// stay separate.
std::vector<Finding> settle(std::vector<Finding> findings);

// Does `root` explain `other`? Exposed for tests and for whoever shows why a finding is missing.
bool explains(const Finding& root, const Finding& other);

}  // namespace deadrank::results
