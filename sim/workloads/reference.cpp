// sim/workloads/reference.cpp — Serial training, step by step.
#include "sim/workloads/reference.h"

namespace deadrank::sim {

Reference::Reference(const ModelShape& shape, const SamplerSettings& sampling, std::int64_t seed,
                     std::int64_t rate_ppb, std::int64_t dropout)
    : shape_(shape),
      sampling_(sampling),
      sampler_(sampling),
      rate_ppb_(rate_ppb),
      seed_(seed),
      dropout_(dropout),
      parameters_(initial_parameters(shape, seed)) {}

void Reference::advance_to(std::int64_t step) {
    for (; next_ <= step; ++next_) {
        std::vector<Number> gradient(parameters_.size(), 0);
        Number sum = 0;
        for (std::int64_t replica = 0; replica < sampling_.replicas; ++replica) {
            Dropout dropout{dropout_, seed_ + replica, next_ * sampling_.batch};
            for (const std::int64_t sample : sampler_.batch(next_, replica)) {
                sum = plus(sum, train_sample(shape_, parameters_, sample, gradient, dropout));
                ++dropout.counter;
            }
        }
        const std::int64_t everything = sampling_.replicas * sampling_.batch;
        descend(parameters_, gradient, everything, rate_ppb_);
        loss_ = scaled(sum, 1, everything);
        gradient_norm_ = scaled(norm(gradient), 1, everything);
    }
}

}  // namespace deadrank::sim
