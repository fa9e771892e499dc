// sim/workloads/sampler.h — Which samples a rank takes at a step: a shuffled epoch cut into equal parts, as
// DistributedSampler does. The shuffle is an affine permutation, so that any position is found in constant
// time, at any data set size.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace deadrank::sim {

struct SamplerSettings {
    std::int64_t samples = 4096;
    std::int64_t batch = 4;     // per rank and step
    std::int64_t replicas = 1;  // data-parallel size
    std::int64_t seed = 1234;
    bool shuffle = true;
};

class Sampler {
public:
    explicit Sampler(const SamplerSettings& settings);

    std::int64_t steps_per_epoch() const;
    std::int64_t epoch_of(std::int64_t step) const { return step / steps_per_epoch(); }

    // Sample ids of one replica at one step, in order. `epoch`: which shuffle; the step's own unless told.
    std::vector<std::int64_t> batch(std::int64_t step, std::int64_t replica) const {
        return batch(step, replica, epoch_of(step));
    }
    std::vector<std::int64_t> batch(std::int64_t step, std::int64_t replica, std::int64_t epoch) const;

private:
    struct Shuffle {
        std::uint64_t stride = 1, start = 0;
    };
    Shuffle shuffle(std::int64_t epoch) const;
    std::int64_t at(const Shuffle& shuffle, std::int64_t position) const;
    SamplerSettings settings_;
};

// "4,17,3": how a batch is shown in evidence.
std::string listed(const std::vector<std::int64_t>& samples);

}  // namespace deadrank::sim
