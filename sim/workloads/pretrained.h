// sim/workloads/pretrained.h — Weights that a job begins with: fetched once a node, to the node's own disk,
// and read by its ranks.
#pragma once

#include <vector>

#include "sim/workloads/job.h"

namespace deadrank::sim {

// Leaves the file's weights in `parameters`, and shows their sum beside the file's.
void load_pretrained(Job& job, std::vector<Number>& parameters);

}  // namespace deadrank::sim
