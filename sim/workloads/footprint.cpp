// sim/workloads/footprint.cpp — Sizes are settings; where they go, and for how long, is what faults bend.
#include "sim/workloads/footprint.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/record/event_names.h"

namespace deadrank::sim {

namespace {

constexpr std::int64_t expansion = 2;   // stored in half precision, read in full
constexpr std::int64_t detached = 512;  // a number on the device, in the smallest block of the allocator

}  // namespace

Footprint::Footprint(World& world, const JobSettings& settings) : world_(world), settings_(settings) {}

void Footprint::open() {
    Device& device = world_.device();
    const int own = device.index();
    device.allocate(settings_.context_size);
    const auto also = static_cast<int>(world_.seam("context.device", own));
    if (also != own) {  // whatever ran before the device was chosen
        world_.record(
            results::DeviceBind{world_.text(scenarios::enum_name(results::BoundPart::context)), also});
        device.allocate_on(also, settings_.context_size);
    }
    const std::int64_t workers = world_.seam("loader.workers", settings_.loader_workers);
    for (std::int64_t i = 0; i < workers; ++i) device.allocate_host(settings_.worker_memory);
}

void Footprint::load(const Kept& kept, std::int64_t whole, std::int64_t layers) {
    Device& device = world_.device();
    const int own = device.index();
    take(kept.parameters);
    const std::int64_t at_once =
        std::clamp<std::int64_t>(world_.seam("load.layers_at_once", 1), 1, std::max<std::int64_t>(layers, 1));
    const std::int64_t staged =
        whole * at_once / std::max<std::int64_t>(layers, 1) * expansion * settings_.parameter_size;
    const auto where = static_cast<int>(world_.seam("weights.device", own));
    if (where < 0) {
        device.allocate_host(staged);
    } else if (where == own) {
        device.release(device.allocate(staged));
    } else {  // read to the device they were saved from, and kept there by the process that read them
        world_.record(
            results::DeviceBind{world_.text(scenarios::enum_name(results::BoundPart::weights)), where});
        device.allocate_on(where, staged);
    }
    take(kept.gradients + kept.optimizer);
}

std::int64_t Footprint::sharing(Rank ranks) {
    const auto shared = std::clamp<std::int64_t>(world_.seam("sharding.size", ranks), 1, ranks);
    if (settings_.validate && shared < ranks) {
        throw RankFailure(fmt::format(
            "AssertionError: parameters are sharded over {} of {} ranks: no process group was there yet, "
            "call init_process_group before the model is built",
            shared, ranks));
    }
    return shared;
}

void Footprint::activations(std::int64_t numbers) { of_step_.push_back(take_activations(numbers)); }

void Footprint::step_over() {
    if (!world_.block("activations.release")) {  // what is kept for a log: a number, or a graph with it
        if (settings_.detach_logged)
            world_.device().allocate(detached);
        else
            of_step_.clear();
    }
    for (const std::int64_t handle : of_step_) give_back(handle);
    of_step_.clear();
}

std::int64_t Footprint::take(std::int64_t parameters) {
    return world_.device().allocate(parameters * settings_.parameter_size);
}

std::int64_t Footprint::take_activations(std::int64_t numbers) {
    return world_.device().allocate(numbers * settings_.activation_size);
}

}  // namespace deadrank::sim
