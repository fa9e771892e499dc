// sim/workloads/startup.h — What a rank does before its first step: the rendezvous, the checks, its device,
// and weights that the job begins with.
#pragma once

#include <vector>

#include "sim/workloads/job.h"

namespace deadrank::sim {

// Leaves the file's weights in `parameters`, and shows their sum beside the file's. `strict` refuses a file
// of which nothing was taken; `shared`: rank 0 fetches it once, to storage that all nodes see.
void load_pretrained(Job& job, std::vector<Number>& parameters, bool strict, bool shared);

}  // namespace deadrank::sim
