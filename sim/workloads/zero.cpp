// sim/workloads/zero.cpp — ZeRO: optimizer state (1), gradients (2) and parameters (3) live in shards; ranks
// gather what they need. The shard of a rank is a plain interval of the flat parameters, the last one padded;
// offsets pass through a seam.
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <vector>

#include "sim/parts/flat_buffer.h"
#include "sim/parts/tensor_checks.h"
#include "sim/workloads/job.h"
#include "sim/workloads/step_share.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

enum class Unwritten { zeros, leftovers, nan };
enum class Fetch { all_gather, all_reduce };

struct ZeroSettings : JobSettings {
    using JobSettings::JobSettings;
    static constexpr bool whole_model = true;

    std::int64_t stage = integer("stage", "1", "1 optimizer state, 2 and gradients, 3 and parameters", 1);
    bool offload =
        flag("offload", "false", "keep optimizer state in host memory, swapped in by an asynchronous queue");
    std::int64_t bucket =
        integer("bucket", "",
                "gradients lie layer by layer in a flat buffer, which is reduced so many elements at a time; "
                "absent = as one piece",
                1);
    std::int64_t align = integer("align", "", "a layer begins at a multiple of this in that buffer", 1);
    Unwritten unwritten = choice<Unwritten>("unwritten", "", "what fresh memory holds. Absent = zeros",
                                            {"zeros", "leftovers", "nan"});
    bool one_stream = flag(
        "one_stream", "",
        "copies into that buffer and its reductions share a stream: none can be early, and a step takes a "
        "tenth longer");
    Fetch fetch =
        choice<Fetch>("fetch", "",
                      "how parameters are fetched: all-gather, or all-reduce over a buffer in which "
                      "each rank fills its own place. Absent = all_gather",
                      {"all_gather", "all_reduce"});
};

scenarios::Kind zero_words() {
    scenarios::Kind kind =
        job_words("zero", "ZeRO stages 1, 2 and 3: optimizer state, gradients and parameters in shards");
    for (const char* seam :
         {"shard.offset", "shard.length", "gradient.divisor", "zero.stage", "loss.divisor", "sharding.size",
          "optimizer.index_bits", "pack.offset", "pack.stride", "pack.filled", "gather.output", "gather.type",
          "scatter.input", "scatter.type", "tensor.dimension"}) {
        kind.seams.emplace_back(seam);
    }
    for (const char* block :
         {"parameter.gather", "gradient.reduce", "parameters.broadcast", "secondary.invalidate",
          "partition.skip_empty", "offload.queue_guard", "gradient.accumulate", "buffer.clear", "pack.wait",
          "fetch.clear", "offload.copy_wait", "clip.all_reduce"}) {
        kind.blocks.emplace_back(block);
    }
    add_whole_model_words(kind);
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

// What memory holds that was given back by somebody else, or that nobody ever wrote.
Number fresh_memory(Unwritten unwritten) {
    constexpr Number leftover = one / 64;
    if (unwritten == Unwritten::nan) return infinite;
    return unwritten == Unwritten::leftovers ? leftover : 0;
}

// Gradients in a flat buffer, where setting `bucket` asks for one; else as they are.
class Gradients {
public:
    Gradients(Job& job, const ZeroSettings& settings, const Shard& shard, std::int64_t stage)
        : job_(job),
          shard_(shard),
          stage_(stage),
          bucket_(settings.bucket),
          one_stream_(settings.one_stream) {
        if (bucket_ == 0) return;
        const FlatPlan plan{.align = std::max<std::int64_t>(1, settings.align),
                            .parts = job.size(),
                            .unwritten = fresh_memory(settings.unwritten),
                            .one_stream = settings.one_stream};
        const std::vector<std::int64_t> layers(static_cast<std::size_t>(settings.layers), settings.width);
        flat_.emplace(job.world(), FlatLayout(layers, plan), plan);
        used_.assign(layers.size(), true);
    }

    // The sum over all ranks of this rank's part. `all_layers` false: the last one got no gradient here.
    void reduce(std::vector<Number>& gradient, bool all_layers, std::span<Number> part) {
        World& world = job_.world();
        if (flat_) {
            used_.back() = all_layers;
            flat_->fill(gradient, used_);
            if (one_stream_) world.device().compute(job_.settings().step_time / 10);
            const auto all = flat_->filled();
            for (std::size_t at = 0; at < all.size() && world.block("gradient.reduce"); at += step())
                job_.comm().all_reduce(all.subspan(at, std::min(step(), all.size() - at)));
            flat_->read(gradient);
            take_own(gradient, part);
            return;
        }
        if (!world.block("gradient.reduce")) return take_own(gradient, part);
        if (stage_ >= 2) {
            check_scatter(world, job_.comm(), std::ssize(gradient), std::ssize(part));
            job_.comm().reduce_scatter(gradient, part);
            return;
        }
        job_.comm().all_reduce(gradient);
        take_own(gradient, part);
    }

    // What a norm over the buffer also counts: whatever lies in its holes.
    Number squares_in_holes() {
        if (!flat_) return 0;
        Number sum = squares(flat_->numbers());
        for (std::size_t i = 0; i < flat_->layout().tensors() && sum < infinite; ++i) {
            sum -= squares(flat_->numbers().subspan(static_cast<std::size_t>(flat_->layout().offset(i)),
                                                    static_cast<std::size_t>(flat_->layout().length(i))));
        }
        return sum;
    }

private:
    std::size_t step() const { return static_cast<std::size_t>(bucket_); }
    void take_own(const std::vector<Number>& gradient, std::span<Number> part) const {
        std::copy_n(gradient.begin() + shard_.offset, static_cast<std::ptrdiff_t>(shard_.own), part.begin());
    }

    Job& job_;
    const Shard& shard_;
    std::int64_t stage_, bucket_;
    bool one_stream_;
    std::optional<FlatBuffer> flat_;
    std::vector<bool> used_;
};

// The full parameters out of everybody's part.
class Fetcher {
public:
    Fetcher(Job& job, const ZeroSettings& settings, const Shard& shard, std::int64_t total)
        : job_(job),
          shard_(shard),
          total_(static_cast<std::size_t>(std::max<std::int64_t>(total, 0))),
          all_reduce_(settings.fetch == Fetch::all_reduce),
          fresh_(fresh_memory(settings.unwritten)) {}

    void fetch(const std::vector<Number>& mine, std::vector<Number>& full) {
        World& world = job_.world();
        const auto size = std::max(total_, static_cast<std::size_t>(shard_.length * job_.size()));
        check_dimension(world, 0, 1);
        if (all_reduce_) {  // what is not mine must be zero, or it joins the sum
            full.assign(size, world.block("fetch.clear") ? 0 : fresh_);
            std::copy_n(mine.begin(), static_cast<std::ptrdiff_t>(shard_.own), full.begin() + shard_.offset);
            job_.comm().all_reduce(full);
        } else {
            (void)world.block("fetch.clear");  // an all-gather writes every place: there is nothing to clear
            full.assign(static_cast<std::size_t>(shard_.length * job_.size()), 0);
            check_gather(world, job_.comm(), std::ssize(mine), std::ssize(full));
            job_.comm().all_gather(mine, full);
        }
        full.resize(total_, 0);
    }

private:
    Job& job_;
    const Shard& shard_;
    std::size_t total_;
    bool all_reduce_;
    Number fresh_;
};

// Cuts a shard's gradient by the norm over all shards; left out, by that of its own.
void clip_shard(Job& job, std::span<Number> reduced, Number holes, std::int64_t everything) {
    const std::int64_t limit = job.settings().clip;
    if (limit == 0) return;
    Number sum[] = {plus(squares(reduced), holes)};
    if (job.world().block("clip.all_reduce")) job.comm().all_reduce(sum);
    clip_to(reduced, job.world().seam("clip.norm", scaled(root(sum[0]), 1, everything)), limit);
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
    job.load_saved(full);
    full.resize(static_cast<std::size_t>(std::max(total, shard.length * job.size())), 0);
    if (world.block("parameters.broadcast")) job.comm().broadcast(full, 0);
    std::vector<Number> mine(static_cast<std::size_t>(shard.length), 0);
    std::copy_n(full.begin() + shard.offset, static_cast<std::ptrdiff_t>(shard.own), mine.begin());
    job.set_state({&mine, static_cast<int>(job.rank()), static_cast<int>(job.size()), true});
    const bool offload = settings.offload;
    job.memory().load(kept_by(job, total, stage, offload), total, shape.layers);
    Gradients gradients(job, settings, shard, stage);
    Fetcher fetcher(job, settings, shard, total);
    const auto gather = [&] { fetcher.fetch(mine, full); };
    std::vector<Number> on_host;  // the gradient, where the optimizer lives

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
        gradients.reduce(gradient, shape.branch == 0 || share.all_layers, reduced);
        const std::int64_t everything = normaliser(job, job.comm(), share, samples.size());
        Number logged[] = {share.loss};
        job.comm().all_reduce(logged);
        world.phase(results::Phase::optimizer);
        if (offload) swap_in(world, shard);
        check_index(job, shard);
        clip_shard(job, reduced, gradients.squares_in_holes(), everything);
        // The copy to the host goes on by itself: who does not wait reads what was there before.
        if (offload && on_host.empty()) on_host.assign(reduced.size(), 0);
        if (offload && !world.block("offload.copy_wait"))
            reduced.swap(on_host);
        else if (offload)
            on_host = reduced;
        descend(mine, reduced, world.seam("gradient.divisor", everything), job.learning_rate(step));
        gather();
        job.digest(step, "replica", "parameters", full);
        job.memory().give_back(gathered);
        const Number norm_of_mean = scaled(norm(reduced), 1, everything);
        const Number mean_loss = scaled(logged[0], 1, world.seam("loss.divisor", everything));
        job.compare(step, full, 0, mean_loss, job.size());
        job.evaluate(step, full);
        return StepResult{mean_loss, norm_of_mean};
    });
}

}  // namespace

extern const WorkloadRow zero_row{[] { return workload(zero_words(), zero_rank, {"groups"}); }};

}  // namespace deadrank::sim
