// sim/workloads/zero.cpp — ZeRO: optimizer state (1), gradients (2) and parameters (3) live in shards; ranks
// gather what they need. The shard of a rank is a plain interval of the flat parameters, the last one padded;
// offsets pass through a seam.
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <limits>
#include <vector>

#include "sim/workloads/job.h"
#include "sim/workloads/step_share.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

struct ZeroSettings : JobSettings {
    using JobSettings::JobSettings;

    std::int64_t stage = integer("stage", "1", "1 optimizer state, 2 and gradients, 3 and parameters", 1);
    bool offload =
        flag("offload", "false", "keep optimizer state in host memory, swapped in by an asynchronous queue");
};

scenarios::Kind zero_words() {
    scenarios::Kind kind =
        job_words("zero", "ZeRO stages 1, 2 and 3: optimizer state, gradients and parameters in shards");
    for (const char* seam : {"shard.offset", "shard.length", "gradient.divisor", "zero.stage", "loss.divisor",
                             "sharding.size", "optimizer.index_bits"}) {
        kind.seams.emplace_back(seam);
    }
    for (const char* block :
         {"parameter.gather", "gradient.reduce", "parameters.broadcast", "secondary.invalidate",
          "partition.skip_empty", "offload.queue_guard", "gradient.accumulate"}) {
        kind.blocks.emplace_back(block);
    }
    return kind;
}

struct Shard {
    std::int64_t length;  // of every shard: the flat size rounded up
    std::int64_t offset;  // of mine
    std::int64_t own;     // elements of mine that are not padding
};

Shard cut_shard(World& world, std::int64_t total, Rank ranks, Rank rank) {
    const std::int64_t length = world.seam("shard.length", (total + ranks - 1) / ranks);
    const std::int64_t offset = world.seam("shard.offset", std::min<std::int64_t>(rank * length, total));
    return {length, offset, std::clamp<std::int64_t>(total - offset, 0, length)};
}

// What a shard that reaches past the end does in a real framework: an error of the slice.
void check_slice(const Shard& shard, std::int64_t total) {
    if (shard.offset < 0 || shard.offset > total || shard.length < 0) {
        throw RankFailure(fmt::format("RuntimeError: start ({}) + length ({}) exceeds dimension size ({}).",
                                      shard.offset, shard.length, total));
    }
}

// What a rank keeps of the model, by stage; offloaded optimizer state lies in host memory.
Kept kept_by(Job& job, std::int64_t total, std::int64_t stage, bool offload) {
    const std::int64_t ranks = job.memory().sharing(job.size());
    const std::int64_t part = (total + ranks - 1) / ranks;
    if (offload) job.world().device().allocate_host(2 * part * job.settings().parameter_size, true);
    return {stage >= 3 ? part : total, stage >= 2 ? part : total, offload ? 0 : 2 * part};
}

// Before the optimizer: offloaded state is swapped in, if there is any.
void swap_in(World& world, const Shard& shard) {
    const bool queued = shard.own > 0;
    if (!queued && world.block("offload.queue_guard")) return;
    if (!queued) throw RankFailure("AssertionError: aio wait: _num_pending_ops > 0");
    world.device().compute(std::chrono::milliseconds(1));
}

// The fused update indexes its elements, four bytes each, with so many bits.
void check_index(Job& job, const Shard& shard) {
    const std::int64_t elements = shard.own * (job.settings().parameter_size / 4);
    if (job.world().seam("optimizer.index_bits", 64) > 32) return;
    if (elements <= std::numeric_limits<std::int32_t>::max()) return;
    throw RankFailure(
        "torch.AcceleratorError: CUDA error: an illegal memory access was encountered (multi_tensor_apply)");
}

void zero_rank(World& world, const ZeroSettings& settings) {
    Job job(world, settings);
    job.start();
    const ModelShape shape = job.shape();
    const std::int64_t total = shape.parameters();
    const std::int64_t stage = world.seam("zero.stage", settings.stage);
    world.record(results::RankConfig{world.text("zero_stage"), world.text(std::to_string(stage))});
    const Shard shard = cut_shard(world, total, job.size(), job.rank());
    check_slice(shard, total);
    if (shard.own == 0 && !world.block("partition.skip_empty")) {
        throw RankFailure(
            fmt::format("IndexError: start out of range (expected to be in range of [-{}, {}], but got {})",
                        total, total, shard.length * job.rank()));
    }
    job.layout("flat_parameters", shard.offset, shard.own, total);

    std::vector<Number> full = initial_parameters(shape, world.seam("model.seed", settings.seed));
    full.resize(static_cast<std::size_t>(std::max(total, shard.length * job.size())), 0);
    if (world.block("parameters.broadcast")) job.comm().broadcast(full, 0);
    std::vector<Number> mine(static_cast<std::size_t>(shard.length), 0);
    std::copy_n(full.begin() + shard.offset, static_cast<std::ptrdiff_t>(shard.own), mine.begin());
    job.set_state({&mine, static_cast<int>(job.rank()), static_cast<int>(job.size()), true});
    const bool offload = settings.offload;
    job.memory().load(kept_by(job, total, stage, offload), total, shape.layers);
    const auto gather = [&] {
        full.assign(static_cast<std::size_t>(shard.length * job.size()), 0);
        job.comm().all_gather(mine, full);
        full.resize(static_cast<std::size_t>(std::max<std::int64_t>(total, 0)), 0);
    };

    // Stage 3 lets the parameters go after forward: what is not gathered again has no elements.
    const auto gather_for_backward = [&] {
        if (world.block("parameter.gather")) return gather();
        throw RankFailure(
            fmt::format("RuntimeError: The size of tensor a ({}) must match the size of tensor b "
                        "(0) at non-singleton dimension 0",
                        total));
    };

    const Time compute = settings.step_time;
    job.train([&](std::int64_t step) {
        world.phase(results::Phase::data);
        const auto samples = job.batch(step, job.rank(), job.size());
        world.phase(results::Phase::forward);
        // A cached secondary copy is gathered anew unless somebody forgot that it went stale: what a
        // checkpoint put into the shards is not in it yet.
        if (stage == 3 || world.block("secondary.invalidate")) gather();
        const std::int64_t gathered = job.memory().take(stage >= 3 ? total : 0);
        job.memory().activations(activations_of(job, samples.size()));
        world.device().compute(compute / 3);
        Share share = train_share(job, step, full, samples, job.rank());
        std::vector<Number>& gradient = share.gradient;
        world.phase(results::Phase::backward);
        if (stage == 3) gather_for_backward();
        world.device().compute(compute - compute / 3);

        world.phase(results::Phase::reduce);
        std::vector<Number> reduced(static_cast<std::size_t>(shard.length), 0);
        gradient.resize(static_cast<std::size_t>(shard.length * job.size()), 0);
        if (!world.block("gradient.reduce")) {
            std::copy_n(gradient.begin() + shard.offset, shard.own, reduced.begin());
        } else if (stage >= 2) {
            job.comm().reduce_scatter(gradient, reduced);
        } else {
            job.comm().all_reduce(gradient);
            std::copy_n(gradient.begin() + shard.offset, static_cast<std::ptrdiff_t>(shard.own),
                        reduced.begin());
        }
        const std::int64_t everything = std::int64_t{job.size()} * static_cast<std::int64_t>(samples.size());
        Number logged[] = {share.loss};
        job.comm().all_reduce(logged);
        world.phase(results::Phase::optimizer);
        if (offload) swap_in(world, shard);
        check_index(job, shard);
        descend(mine, reduced, world.seam("gradient.divisor", everything), job.learning_rate(step));
        gather();
        job.digest(step, "replica", "parameters", full);
        job.memory().give_back(gathered);
        const Number norm_of_mean = scaled(norm(reduced), 1, everything);
        const Number mean_loss = scaled(logged[0], 1, world.seam("loss.divisor", everything));
        job.compare(step, full, 0, mean_loss, job.size());
        return StepResult{mean_loss, norm_of_mean};
    });
}

}  // namespace

extern const WorkloadRow zero_row{[] { return workload(zero_words(), zero_rank); }};

}  // namespace deadrank::sim
