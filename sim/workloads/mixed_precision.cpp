// sim/workloads/mixed_precision.cpp — Data parallel with loss scaling: gradients travel scaled in half
// precision, an overflow anywhere must make every rank skip the step and halve the scale. Half precision ends
// at 65504; below that the sums here are exact.
#include <algorithm>
#include <vector>

#include "sim/workloads/job.h"
#include "sim/workloads/step_share.h"
#include "sim/workloads/workload_catalog.h"

namespace deadrank::sim {

namespace {

struct MixedPrecisionSettings : JobSettings {
    using JobSettings::JobSettings;

    std::int64_t loss_scale =
        integer("loss_scale", "64", "the scale that training begins with; a power of two", 1);
    bool agree =
        flag("agree", "true", "an overflow on one rank is made known to all before anybody skips the step");
};

scenarios::Kind mixed_precision_words() {
    scenarios::Kind kind =
        job_words("mixed_precision", "data parallel in half precision with dynamic loss scaling");
    for (const char* seam : {"loss_scale.initial", "loss_scale.factor", "overflow.flag", "gradient.divisor",
                             "loss.divisor", "gradient.local", "loss_scale.unscale"}) {
        kind.seams.emplace_back(seam);
    }
    for (const char* block : {"overflow.agree", "overflow.skip_step", "gradient.unscale",
                              "gradient.all_reduce", "loss_scale.update", "gradient.accumulate"}) {
        kind.blocks.emplace_back(block);
    }
    leave_out(kind, {"group."});  // it makes none beside the world
    kind.resizes = true;
    return kind;
}

constexpr Number half_precision_max = 65504 * one;

void mixed_precision_rank(World& world, const MixedPrecisionSettings& settings) {
    Job job(world, settings);
    job.start();
    const ModelShape shape = job.shape();
    std::vector<Number> parameters = initial_parameters(shape, world.seam("model.seed", settings.seed));
    bool stepped = false;  // the optimizer's moments come to be in its first step
    job.set_state({&parameters, 0, 1, job.rank() == 0, &stepped});
    std::int64_t scale = world.seam("loss_scale.initial", settings.loss_scale);
    const std::int64_t total = shape.parameters();  // half precision, and a master copy beside the moments
    job.memory().load({total / 2, total / 2, 3 * total}, total, shape.layers);
    const Time compute = settings.step_time;
    const bool agree = settings.agree;

    job.train([&](std::int64_t step) {
        world.phase(results::Phase::data);
        const auto samples = job.batch(step, job.rank(), job.size());
        world.phase(results::Phase::forward);
        world.device().compute(compute);
        job.memory().activations(activations_of(job, samples.size()));
        Share share = train_share(job, step, parameters, samples, job.rank());
        std::vector<Number>& gradient = share.gradient;
        gradient.front() = world.seam("gradient.local", gradient.front());
        Number overflow = 0;
        for (Number& value : gradient) {
            value = saturate(Wide{value} * scale);
            if (value > half_precision_max || value < -half_precision_max) {
                value = value > 0 ? infinite : -infinite;
                overflow = 1;
            }
        }
        world.phase(results::Phase::reduce);
        Number flag[] = {world.seam("overflow.flag", overflow)};
        if (agree && world.block("overflow.agree")) job.comm().all_reduce(flag, ReduceOp::max, Dtype::i32);
        Number logged[] = {share.loss};
        job.comm().all_reduce(logged);
        const bool skips = flag[0] != 0 && world.block("overflow.skip_step");
        const std::int64_t everything = std::int64_t{job.size()} * static_cast<std::int64_t>(samples.size());
        job.value(step, "loss_scale", scale * one);
        job.value(step, "overflow", flag[0] * one);
        if (!skips) {  // ranks that disagree here part ways: some wait in the all-reduce, some do not come
            if (world.block("gradient.all_reduce"))
                job.comm().all_reduce(gradient, ReduceOp::sum, Dtype::f16);
            world.phase(results::Phase::optimizer);
            stepped = true;
            const std::int64_t unscale =
                world.block("gradient.unscale") ? world.seam("loss_scale.unscale", scale) : 1;
            const std::int64_t divisor = world.seam("gradient.divisor", everything);
            descend(parameters, gradient, divisor * unscale, job.learning_rate(step));
        } else if (world.block("loss_scale.update")) {
            scale = std::max<std::int64_t>(
                1, scale / std::max<std::int64_t>(1, world.seam("loss_scale.factor", 2)));
        }
        job.digest(step, "replica", "parameters", parameters);
        const Number mean_loss = scaled(logged[0], 1, world.seam("loss.divisor", everything));
        job.compare(step, parameters, 0, mean_loss, job.size());
        // A skipped step has no gradient to speak of.
        return StepResult{mean_loss, skips ? 0 : scaled(norm(gradient), 1, everything * scale)};
    });
}

}  // namespace

extern const WorkloadRow mixed_precision_row{
    [] { return workload(mixed_precision_words(), mixed_precision_rank, {"groups"}); }};

}  // namespace deadrank::sim
