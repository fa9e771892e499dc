// sim/workloads/reference.h — The same training on one rank, in plain serial code on the same samples: what
// any layout must equal. No fault touches it: it asks no seam and no block. Operators do this too, with a
// small run of trusted code.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/workloads/model.h"
#include "sim/workloads/sampler.h"

namespace deadrank::sim {

class Reference {
public:
    Reference(const ModelShape& shape, const SamplerSettings& sampling, std::int64_t seed,
              std::int64_t rate_ppb, std::int64_t dropout = 0);

    // Trains up to and including `step`; steps must not go back.
    void advance_to(std::int64_t step);

    Number loss() const { return loss_; }                    // mean over the global batch of the last step
    Number gradient_norm() const { return gradient_norm_; }  // of the mean gradient
    std::span<const Number> parameters() const { return parameters_; }

private:
    ModelShape shape_;
    SamplerSettings sampling_;
    Sampler sampler_;
    std::int64_t rate_ppb_;
    std::int64_t seed_;
    std::int64_t dropout_;  // one feature in so many; 0 = none
    std::int64_t next_ = 0;
    std::vector<Number> parameters_;
    Number loss_ = 0;
    Number gradient_norm_ = 0;
};

}  // namespace deadrank::sim
