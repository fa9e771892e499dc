// sim/workloads/share.h — One rank's share of a step: its samples in micro-batches, forward and backward,
// gradients added up.
#pragma once

#include <vector>

#include "sim/workloads/job.h"

namespace deadrank::sim {

struct Share {
    Number loss = 0;
    std::vector<Number> gradient;
    std::vector<Number> unfinished;  // the gradient as it stood before the last micro-batch
};

// `replica`: place among those that hold the same parameters; it decides what dropout drops.
Share train_share(Job& job, std::int64_t step, std::span<const Number> parameters,
                  const std::vector<std::int64_t>& samples, Rank replica);

// Samples that are in flight at once, and what their activations take.
std::int64_t activations_of(const Job& job, std::size_t samples);

}  // namespace deadrank::sim
