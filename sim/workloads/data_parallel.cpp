// sim/workloads/data_parallel.cpp — Every rank holds the whole model and its own samples; gradients are
// summed by all-reduce, bucket by bucket.
#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <vector>

#include "sim/workloads/job.h"
#include "sim/workloads/startup.h"
#include "sim/workloads/step_share.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

enum class Overlap { none, backward, off };

struct DataParallelSettings : JobSettings {
    using JobSettings::JobSettings;
    static constexpr bool whole_model = true;

    std::int64_t buckets = integer("buckets", "2", "gradient buckets, reduced while backward still runs", 1);
    std::int64_t dp_size = integer(
        "dp_size", "", "ranks that average their gradients in a group of their own; absent = the world", 1);
    bool pretrained = flag("pretrained", "", "begin with weights that each node fetches to its own disk");
    bool shared_models =
        flag("shared_models", "", "fetch them once, to storage that all nodes see", "pretrained");
    bool strict_load =
        flag("strict_load", "", "refuse fetched weights that match no parameter by name", "pretrained");
    bool average_in_collective =
        flag("average_in_collective", "",
             "the reduction averages over ranks, as DDP does, and what `normalise` divides by is a rank's "
             "share of it: the rank's own samples, for one");
    bool validate_results =
        flag("validate_results", "", "stop at a step whose sum is not that of its parts", "audit");
    Overlap overlap =
        choice<Overlap>("overlap", "",
                        "when buckets are reduced: after backward, side by side; each as soon as "
                        "its part of backward is done; after backward, one after the other. "
                        "Absent = none",
                        {"none", "backward", "off"});
};

scenarios::Kind data_parallel_words() {
    scenarios::Kind kind =
        job_words("data_parallel", "whole model on every rank, gradients summed by all-reduce in buckets");
    for (const char* seam : {"gradient.divisor", "gradient.local", "loss.divisor", "bucket.unflatten",
                             "dp.size", "bucket.first"})
        kind.seams.emplace_back(seam);
    for (const char* block :
         {"gradient.all_reduce", "parameters.broadcast", "gradient.accumulate",
          "bucket.after_backward", "weights.download", "weights.assign", "overlap.stream", "unused.find"}) {
        kind.blocks.emplace_back(block);
    }
    kind.resizes = true;
    add_whole_model_words(kind);
    add_backward_phase(kind);
    return kind;
}

// A mesh dimension of its own, as hybrid sharding has one; nullptr where the world does it.
std::unique_ptr<Comm> averaging_group(Job& job, std::int64_t stated) {
    if (stated == 0) return nullptr;
    const auto size = static_cast<Rank>(job.world().seam("dp.size", stated));
    if (size < 1 || job.size() % size != 0)
        throw RankFailure("RuntimeError: Mesh should not be bigger than default world size");
    job.config("dp_size", size);
    return job.strided_group("dp", job.rank() - job.rank() % size, 1, size);
}

// As a rerun machine ends the job for its launcher to begin again.
[[noreturn]] void refuse_result(std::int64_t step) {
    throw RankFailure(
        fmt::format("RuntimeError: unexpected result in step {}: the reduced gradient is not "
                    "the sum of its parts, rerun from the last checkpoint",
                    step));
}

// Reduces a step's gradient bucket by bucket, behind the backward pass or while it runs.
class Reducer {
public:
    Reducer(Job& job, Comm& group, const DataParallelSettings& settings)
        : job_(job),
          group_(group),
          overlap_(settings.overlap == Overlap::backward),
          alone_(settings.overlap == Overlap::off),
          backward_(settings.step_time - settings.step_time / 3),
          reduction_(settings.average_in_collective ? ReduceOp::avg : ReduceOp::sum),
          buckets_(std::max<std::int64_t>(1, std::min<std::int64_t>(settings.buckets, settings.layers))) {}

    // Computes the backward pass and starts the reductions. `ready` false: the first bucket waits for a
    // gradient that never comes, and so does every other one behind it.
    void run(std::vector<Number>& gradient, bool ready) {
        World& world = job_.world();
        const std::size_t bucket =
            (gradient.size() + static_cast<std::size_t>(buckets_) - 1) / static_cast<std::size_t>(buckets_);
        const auto count = (gradient.size() + bucket - 1) / bucket;
        const std::int64_t first = overlap_ ? world.seam("bucket.first", 0) : 0;
        pending_.reserve(count);
        for (std::size_t i = 0; i < count; ++i) {
            if (overlap_) world.device().compute(backward_ / static_cast<std::int64_t>(count));
            const std::size_t at = (i + static_cast<std::size_t>(std::abs(first))) % count * bucket;
            if (!ready || !world.block("gradient.all_reduce")) continue;
            pending_.push_back(group_.all_reduce_async(
                std::span(gradient).subspan(at, std::min(bucket, gradient.size() - at)), reduction_));
            // On the stream that computes, a reduction holds up what comes after it.
            if (alone_ || (overlap_ && !world.block("overlap.stream"))) pending_.back()->wait();
        }
    }

    void wait() {
        for (auto& work : pending_) work->wait();
    }

private:
    Job& job_;
    Comm& group_;
    bool overlap_, alone_;
    Time backward_;
    ReduceOp reduction_;
    std::int64_t buckets_;
    std::vector<std::unique_ptr<Work>> pending_;
};

// At the next forward pass torch's reducer checks whether the last reduction was finished.
[[noreturn]] void refuse_unfinished(Rank rank, std::int64_t parameters) {
    throw RankFailure(fmt::format(
        "RuntimeError: Expected to have finished reduction in the prior iteration before starting a new one. "
        "This error indicates that your module has parameters that were not used in producing loss. "
        "Parameter "
        "indices which did not receive grad for rank {}: {}",
        rank, parameters - 1));
}

// Buckets are cut back into gradients by the offsets that filled them.
void unflatten(World& world, std::vector<Number>& reduced) {
    const auto shifted = world.seam("bucket.unflatten", 0) % std::ssize(reduced);
    std::rotate(reduced.begin(), reduced.begin() + std::abs(shifted), reduced.end());
}

// A reducer that starts before the last micro-batch is in sends what there is.
std::vector<Number>& to_reduce(Share& share, bool whole) {
    if (!whole) share.unfinished.resize(share.gradient.size());
    return whole ? share.gradient : share.unfinished;
}

void data_parallel_rank(World& world, const DataParallelSettings& settings) {
    Job job(world, settings);
    job.start();
    const ModelShape shape = job.shape();
    std::vector<Number> parameters = initial_parameters(shape, world.seam("model.seed", settings.seed));
    job.set_state({&parameters, 0, 1, job.rank() == 0});
    const std::int64_t total = shape.parameters();
    job.memory().load({total, total, 2 * total}, total, shape.layers);
    job.load_saved(parameters);
    if (world.block("parameters.broadcast")) job.comm().broadcast(parameters, 0);
    if (settings.pretrained) load_pretrained(job, parameters, settings.strict_load, settings.shared_models);
    const std::unique_ptr<Comm> own_group = averaging_group(job, settings.dp_size);
    Comm& group = own_group ? *own_group : job.comm();
    const bool averages = settings.average_in_collective, alone = settings.overlap == Overlap::off;

    Share share;
    job.train([&](std::int64_t step) {
        world.phase(results::Phase::data);
        const auto samples = job.batch(step, job.rank(), job.size());
        world.phase(results::Phase::forward);
        world.device().compute(settings.step_time / 3);
        job.memory().activations(activations_of(job, samples.size()));
        train_share(job, step, parameters, samples, job.rank(), share);
        std::vector<Number>& gradient = share.gradient;
        Number logged[] = {share.loss, job.audits() ? checksum(gradient) : 0};
        gradient.front() = world.seam("gradient.local", gradient.front());
        const bool complete = shape.branch == 0 || share.all_layers || world.block("unused.find");
        world.phase(results::Phase::backward);
        if (settings.overlap != Overlap::backward)
            world.device().compute(settings.step_time - settings.step_time / 3);

        world.phase(results::Phase::reduce);
        std::vector<Number>& reduced = to_reduce(share, alone || world.block("bucket.after_backward"));
        Reducer reducer(job, group, settings);
        reducer.run(reduced, complete);
        if (!complete) refuse_unfinished(job.rank(), shape.layers);
        reducer.wait();
        unflatten(world, reduced);
        const std::int64_t everything = normaliser(job, group, share, samples.size());
        const Rank times = averages ? group.size() : 1;  // an average over ranks lacks this factor
        const std::int64_t divisor = averages ? everything : world.seam("gradient.divisor", everything);

        world.phase(results::Phase::optimizer);
        const Number norm_of_mean = scaled(norm(reduced), times, divisor);
        const std::vector<Number> sums = job.audits() && settings.clip > 0 ? reduced : std::vector<Number>();
        if (settings.clip > 0) clip_to(reduced, world.seam("clip.norm", norm_of_mean), settings.clip);
        descend(parameters, reduced, divisor, job.learning_rate(step), times);
        group.all_reduce(std::span(logged).first(job.audits() ? 2 : 1));
        const bool right = job.audit_reduction(step, sums.empty() ? reduced : sums, logged[1], times);
        if (settings.validate_results && !right) refuse_result(step);
        job.digest(step, "replica", "parameters", parameters);
        const Number mean_loss = scaled(logged[0], 1, world.seam("loss.divisor", everything));
        job.compare(step, parameters, 0, mean_loss, job.size());
        job.evaluate(step, parameters);
        return StepResult{mean_loss, norm_of_mean};
    });
}

}  // namespace

extern const WorkloadRow data_parallel_row{
    [] { return workload(data_parallel_words(), data_parallel_rank); }};

}  // namespace deadrank::sim
