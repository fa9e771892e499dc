// sim/workloads/zero.cpp — ZeRO: optimizer state (1), gradients (2) and parameters (3) live in shards; ranks
// gather what they need. The shard of a rank is a plain interval of the flat parameters, the last one padded;
// offsets pass through a seam.
#include <algorithm>
#include <chrono>
#include <fmt/format.h>
#include <limits>
#include <optional>
#include <vector>

#include "sim/framework_parts/flat_buffer.h"
#include "sim/framework_parts/tensor_checks.h"
#include "sim/workloads/job.h"
#include "sim/workloads/step_share.h"
#include "sim/workloads/workload_catalog.h"
#include "sim/workloads/zero_settings.h"

namespace deadrank::sim {

namespace {

struct Shard {
    std::int64_t length;  // of every shard: the flat size rounded up
    std::int64_t offset;  // of mine
    std::int64_t own;     // elements of mine that are not padding
};

std::int64_t shown_stage(World& world, std::int64_t wanted) {
    const std::int64_t stage = world.seam("zero.stage", wanted);
    world.record(results::RankConfig{world.text("zero_stage"), world.text(std::to_string(stage))});
    return stage;
}

Shard own_shard(Job& job, std::int64_t total) {
    World& world = job.world();
    const Rank ranks = job.size(), rank = job.rank();
    const std::int64_t length = world.seam("shard.length", (total + ranks - 1) / ranks);
    const std::int64_t offset = world.seam("shard.offset", std::min<std::int64_t>(rank * length, total));
    const Shard shard{length, offset, std::clamp<std::int64_t>(total - offset, 0, length)};
    // What a shard that reaches past the end does in a real framework: an error of the slice.
    if (offset < 0 || offset > total || length < 0) {
        throw RankFailure(fmt::format("RuntimeError: start ({}) + length ({}) exceeds dimension size ({}).",
                                      offset, length, total));
    }
    if (shard.own == 0 && !world.block("partition.skip_empty")) {
        throw RankFailure(
            fmt::format("IndexError: start out of range (expected to be in range of [-{}, {}], but got {})",
                        total, total, length * rank));
    }
    job.layout("flat_parameters", offset, shard.own, total);
    return shard;
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

// What freshly allocated memory holds: what its last user left, or what was never written.
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
    Number sum_padding_squares() {
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

// The full parameters out of every rank's part.
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

// Cuts a shard's gradient by the norm over all shards.
void clip_shard(Job& job, std::span<Number> reduced, Number holes, std::int64_t everything) {
    const std::int64_t limit = job.settings().clip;
    if (limit == 0) return;
    World& world = job.world();
    const bool adds_norms = world.seam("clip.formula", 0) != 0;
    Number sum[] = {plus(squares(reduced), holes)};
    if (adds_norms) sum[0] = root(sum[0]);
    job.comm().all_reduce(sum);
    const Number all = adds_norms ? sum[0] : root(sum[0]);
    clip_to(reduced, world.seam("clip.norm", scaled(all, 1, everything)), limit);
}

// A rank's shard, what it keeps beside it, and the phases of its step.
class ZeroRank {
public:
    ZeroRank(Job& job, const ZeroSettings& settings)
        : job_(job),
          world_(job.world()),
          settings_(settings),
          shape_(job.shape()),
          total_(shape_.parameters()),
          stage_(shown_stage(world_, settings.stage)),
          shard_(own_shard(job, total_)),
          full_(first_parameters()),
          mine_(own_part()),
          gradients_(job, settings, shard_, stage_),
          fetcher_(job, settings, shard_, total_) {
        job.set_state({&mine_, static_cast<int>(job.rank()), static_cast<int>(job.size()), true});
        job.memory().load(kept_by(job, total_, stage_, settings.offload), total_, shape_.layers);
    }

    StepResult step(std::int64_t step) {
        world_.phase(results::Phase::data);
        const auto samples = job_.batch(step, job_.rank(), job_.size());
        world_.phase(results::Phase::forward);
        Share share = forward(step, samples);
        world_.phase(results::Phase::backward);
        backward();
        world_.phase(results::Phase::reduce);
        Sums sums = reduce(share, samples.size());
        world_.phase(results::Phase::optimizer);
        update(step, sums);
        return show(step, sums);
    }

private:
    // What a step adds up over all ranks.
    struct Sums {
        std::vector<Number> gradient;  // of the own shard
        std::int64_t normaliser = 0;
        Number loss = 0;
        Number norms_before = 0,
               norms_after = 0;  // with `audit`: all ranks' gradients before they are packed, and after
    };

    std::vector<Number> first_parameters() {
        std::vector<Number> all = initial_parameters(shape_, world_.seam("model.seed", settings_.seed));
        job_.load_saved(all);
        all.resize(static_cast<std::size_t>(std::max(total_, shard_.length * job_.size())), 0);
        if (world_.block("parameters.broadcast")) job_.comm().broadcast(all, 0);
        return all;
    }

    std::vector<Number> own_part() const {
        std::vector<Number> part(static_cast<std::size_t>(shard_.length), 0);
        std::copy_n(full_.begin() + shard_.offset, static_cast<std::ptrdiff_t>(shard_.own), part.begin());
        return part;
    }

    void gather() { fetcher_.fetch(mine_, full_); }

    Share forward(std::int64_t step, const std::vector<std::int64_t>& samples) {
        // A cached secondary copy is gathered anew, since it is stale: what a checkpoint put into the
        // shards is not in it yet.
        if (stage_ == 3 || world_.block("secondary.invalidate")) gather();
        gathered_ = job_.memory().take(stage_ >= 3 ? total_ : 0);
        job_.memory().activations(activations_of(job_, samples.size()));
        world_.device().compute(settings_.step_time / 3);
        return train_share(job_, step, full_, samples, job_.rank());
    }

    // Stage 3 lets the parameters go after forward: what is not gathered again has no elements.
    void backward() {
        if (stage_ == 3) {
            if (settings_.empty_parameters > 0 && !world_.block("fetch.mark_empty")) {
                throw RankFailure(
                    fmt::format("AssertionError: {{'id': {}, 'status': 'NOT_AVAILABLE', 'numel': 0, "
                                "'ds_numel': 0, 'shape': (0,)}}",
                                shape_.layers));
            }
            if (!world_.block("parameter.gather")) {
                throw RankFailure(
                    fmt::format("RuntimeError: The size of tensor a ({}) must match the size of tensor b "
                                "(0) at non-singleton dimension 0",
                                total_));
            }
            gather();
        }
        world_.device().compute(settings_.step_time - settings_.step_time / 3);
    }

    Sums reduce(Share& share, std::size_t samples) {
        Sums sums{.gradient = std::vector<Number>(static_cast<std::size_t>(shard_.length), 0)};
        const Number norms_before = job_.audits() ? checksum(share.gradient) : 0;
        share.gradient.resize(static_cast<std::size_t>(shard_.length * job_.size()), 0);
        if (settings_.share_buffer && world_.block("fetch.own_memory"))
            world_.device().compute(settings_.step_time / 20);
        else if (settings_.share_buffer)  // what is fetched next has come already
            std::copy_n(full_.begin(), shape_.layer_width(), share.gradient.begin());
        gradients_.reduce(share.gradient, shape_.branch == 0 || share.all_layers, sums.gradient);
        sums.normaliser = normaliser(job_, job_.comm(), share, samples);
        Number logged[] = {share.loss, norms_before, job_.audits() ? checksum_of_own(sums.gradient) : 0};
        job_.comm().all_reduce(std::span(logged).first(job_.audits() ? 3 : 1));
        sums.loss = logged[0];
        sums.norms_before = logged[1];
        sums.norms_after = logged[2];
        return sums;
    }

    // Each number weighs as in the checksum of the whole gradient.
    Number checksum_of_own(const std::vector<Number>& part) const {
        Number sum = 0;
        for (std::int64_t i = 0; i < shard_.own; ++i)
            sum = saturate(Wide{sum} + Wide{part[static_cast<std::size_t>(i)]} * (shard_.offset + i + 1));
        return sum;
    }

    void update(std::int64_t step, Sums& sums) {
        if (job_.audits()) job_.value(step, "gradient.reduced", sums.norms_after, sums.norms_before);
        if (settings_.offload) swap_in(world_, shard_);
        check_index(job_, shard_);
        clip_shard(job_, sums.gradient, gradients_.sum_padding_squares(), sums.normaliser);
        if (settings_.offload) copy_to_host(sums.gradient);
        descend(mine_, sums.gradient, world_.seam("gradient.divisor", sums.normaliser),
                job_.learning_rate(step));
        gather();
    }

    // The copy goes on by itself: an optimizer that does not wait for it reads the gradient of the step
    // before.
    void copy_to_host(std::vector<Number>& gradient) {
        if (on_host_.empty()) on_host_.assign(gradient.size(), 0);
        if (world_.block("offload.copy_wait")) {
            on_host_ = gradient;
        } else {
            gradient.swap(on_host_);
        }
    }

    StepResult show(std::int64_t step, const Sums& sums) {
        job_.digest(step, "replica", "parameters", full_);
        job_.memory().give_back(gathered_);
        const Number norm_of_mean = scaled(norm(sums.gradient), 1, sums.normaliser);
        const Number mean_loss = scaled(sums.loss, 1, world_.seam("loss.divisor", sums.normaliser));
        job_.compare(step, full_, 0, mean_loss, job_.size());
        job_.evaluate(step, full_);
        return {mean_loss, norm_of_mean};
    }

    Job& job_;
    World& world_;
    const ZeroSettings& settings_;
    ModelShape shape_;
    std::int64_t total_;
    std::int64_t stage_;
    Shard shard_;
    std::vector<Number> full_;
    std::vector<Number> mine_;
    Gradients gradients_;
    Fetcher fetcher_;
    std::vector<Number> on_host_;  // the gradient, where the optimizer lives
    std::int64_t gathered_ = 0;    // device memory of a step's full parameters
};

void zero_rank(World& world, const ZeroSettings& settings) {
    Job job(world, settings);
    job.start();
    ZeroRank rank(job, settings);
    job.train([&](std::int64_t step) { return rank.step(step); });
}

}  // namespace

extern const WorkloadRow zero_row{[] { return workload(zero_words(), zero_rank, {"groups"}); }};

}  // namespace deadrank::sim
