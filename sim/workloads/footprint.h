// sim/workloads/footprint.h — What training keeps in device memory: parameters, gradients and optimizer state
// as long as it lives, activations for a step. Counted in numbers of the small model, each of which stands
// for many of a real one.
#pragma once

#include <vector>

#include "sim/workloads/settings.h"
#include "sim/world/world.h"

namespace deadrank::sim {

// Numbers of one rank.
struct Kept {
    std::int64_t parameters = 0;
    std::int64_t gradients = 0;
    std::int64_t optimizer = 0;
};

class Footprint {
public:
    Footprint(World& world, const JobSettings& settings);

    // The context that every process opens on its device, and the buffers of its data loader on the host.
    void open();

    // Reads `whole` numbers of `layers` layers in, some layers at a time in full precision, and keeps the
    // own part.
    void load(const Kept& kept, std::int64_t whole, std::int64_t layers);

    // How many ranks share what is sharded, as the code that builds the model believes.
    std::int64_t sharing(Rank ranks);

    void activations(std::int64_t numbers);  // until the step is over
    void step_over();

    std::int64_t take(std::int64_t parameters);  // a handle for give_back()
    void give_back(std::int64_t handle) { world_.device().release(handle); }
    std::int64_t take_activations(std::int64_t numbers);

private:
    World& world_;
    const JobSettings& settings_;
    std::vector<std::int64_t> of_step_;
};

}  // namespace deadrank::sim
