// sim/workloads/data_parallel.cpp — Every rank holds the whole model and its own samples; gradients are
// summed by all-reduce, bucket by bucket.
#include <algorithm>
#include <vector>

#include "sim/workloads/job.h"
#include "sim/workloads/startup.h"
#include "sim/workloads/step_share.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

struct DataParallelSettings : JobSettings {
    using JobSettings::JobSettings;

    std::int64_t buckets = integer("buckets", "2", "gradient buckets, reduced while backward still runs", 1);
    std::int64_t dp_size = integer(
        "dp_size", "", "ranks that average their gradients in a group of their own; absent = the world", 1);
    bool pretrained = flag("pretrained", "", "begin with weights that each node fetches to its own disk");
};

scenarios::Kind data_parallel_words() {
    scenarios::Kind kind =
        job_words("data_parallel", "whole model on every rank, gradients summed by all-reduce in buckets");
    for (const char* seam :
         {"gradient.divisor", "gradient.local", "loss.divisor", "bucket.unflatten", "dp.size"})
        kind.seams.emplace_back(seam);
    for (const char* block :
         {"gradient.all_reduce", "bucket.wait", "parameters.broadcast", "gradient.accumulate",
          "bucket.after_backward", "weights.download", "weights.assign"}) {
        kind.blocks.emplace_back(block);
    }
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

void data_parallel_rank(World& world, const DataParallelSettings& settings) {
    Job job(world, settings);
    job.start();
    const ModelShape shape = job.shape();
    std::vector<Number> parameters = initial_parameters(shape, world.seam("model.seed", settings.seed));
    job.set_state({&parameters, 0, 1, job.rank() == 0});
    const std::int64_t total = shape.parameters();
    job.memory().load({total, total, 2 * total}, total, shape.layers);
    if (world.block("parameters.broadcast")) job.comm().broadcast(parameters, 0);
    if (settings.pretrained) load_pretrained(job, parameters);
    const std::unique_ptr<Comm> own_group = averaging_group(job, settings.dp_size);
    Comm& group = own_group ? *own_group : job.comm();
    const Time compute = settings.step_time;
    const auto buckets = std::max<std::int64_t>(1, std::min<std::int64_t>(settings.buckets, shape.layers));

    job.train([&](std::int64_t step) {
        world.phase(results::Phase::data);
        const auto samples = job.batch(step, job.rank(), job.size());
        world.phase(results::Phase::forward);
        world.device().compute(compute / 3);
        job.memory().activations(activations_of(job, samples.size()));
        Share share = train_share(job, step, parameters, samples, job.rank());
        std::vector<Number>& gradient = share.gradient;
        Number logged[] = {share.loss, job.audits() ? checksum(gradient) : 0};
        gradient.front() = world.seam("gradient.local", gradient.front());
        world.phase(results::Phase::backward);
        world.device().compute(compute - compute / 3);

        world.phase(results::Phase::reduce);
        const std::size_t bucket =
            (gradient.size() + static_cast<std::size_t>(buckets) - 1) / static_cast<std::size_t>(buckets);
        std::vector<std::unique_ptr<Work>> pending;
        // A reducer that starts before the last micro-batch is in sends what there is.
        std::vector<Number> reduced =
            std::move(world.block("bucket.after_backward") ? gradient : share.unfinished);
        for (std::size_t at = 0; at < reduced.size(); at += bucket) {
            if (!world.block("gradient.all_reduce")) continue;
            pending.push_back(group.all_reduce_async(
                std::span(reduced).subspan(at, std::min(bucket, reduced.size() - at))));
        }
        const bool waits = world.block("bucket.wait");
        if (waits) {
            for (auto& work : pending) work->wait();
        }
        // Buckets are cut back into gradients by the offsets that filled them.
        const auto shifted = world.seam("bucket.unflatten", 0) % std::ssize(reduced);
        std::rotate(reduced.begin(), reduced.begin() + std::abs(shifted), reduced.end());
        const std::int64_t everything =
            std::int64_t{group.size()} * static_cast<std::int64_t>(samples.size());
        const std::int64_t divisor = world.seam("gradient.divisor", everything);

        world.phase(results::Phase::optimizer);
        descend(parameters, reduced, divisor, job.learning_rate(step));
        group.all_reduce(std::span(logged).first(job.audits() ? 2 : 1));
        job.audit_reduction(step, reduced, logged[1]);
        if (!waits) {  // too late, but a stream never forgets its work
            for (auto& work : pending) work->wait();
        }
        job.digest(step, "replica", "parameters", parameters);
        const Number norm_of_mean = scaled(norm(reduced), 1, divisor);
        const Number mean_loss = scaled(logged[0], 1, world.seam("loss.divisor", everything));
        job.compare(step, parameters, 0, mean_loss, job.size());
        return StepResult{mean_loss, norm_of_mean};
    });
}

}  // namespace

extern const WorkloadRow data_parallel_row{
    [] { return workload(data_parallel_words(), data_parallel_rank); }};

}  // namespace deadrank::sim
