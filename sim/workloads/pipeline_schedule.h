// sim/workloads/pipeline_schedule.h — In which order a pipeline stage runs its forward and backward passes:
// 1F1B, plain or interleaved. Source: Narayanan et al., "Efficient Large-Scale Language Model Training on GPU
// Clusters", 2021, section 2.2.
#pragma once

#include <vector>

namespace deadrank::sim {

struct Pass {
    bool forward = true;
    int micro_batch = 0;
    int chunk = 0;  // of the stage's layers; 0 unless interleaved
};

// `chunks` > 1 interleaves: then micro_batches must be a multiple of `stages`.
std::vector<Pass> pipeline_schedule(int stage, int stages, int micro_batches, int chunks,
                                    int extra_warm_up = 0);

}  // namespace deadrank::sim
