// sim/workloads/evaluation.cpp — The model on a set that it does not train on. Each rank takes its batches
// and all add up loss and samples after each, so that every rank must come as often as the others; what the
// last batch is filled up with must not count.
#include <algorithm>
#include <vector>

#include "sim/workloads/job.h"

namespace deadrank::sim {

namespace {

constexpr std::int64_t first_sample = 1'000'000'000;  // beyond any training set
constexpr std::int64_t usual_samples = 32;

Number mean_of(Number sum, std::int64_t samples) {
    return scaled(sum, 1, std::max<std::int64_t>(1, samples));
}

}  // namespace

void Job::evaluate(std::int64_t step, std::span<const Number> parameters) {
    if (settings_.evaluate_every <= 0 || (step + 1) % settings_.evaluate_every != 0) return;
    const std::int64_t samples =
        settings_.evaluation_samples > 0 ? settings_.evaluation_samples : usual_samples;
    const std::int64_t batch = settings_.batch, at_once = batch * size_;
    const bool drops = settings_.evaluation_remainder == Remainder::drop;
    const bool uneven = settings_.evaluation_remainder == Remainder::uneven;
    const std::int64_t whole = samples / at_once, rest = samples % at_once;
    std::int64_t passes = whole + (rest > 0 && !drops ? 1 : 0);
    if (uneven) passes = whole + (rest > rank_ * batch ? 1 : 0);
    passes = world_.seam("evaluation.passes", passes);

    const auto loss_of = [&](std::int64_t id) {
        std::vector<Number> unused(parameters.size(), 0);
        return train_sample(shape(), parameters, first_sample + id, unused);
    };
    // As sums over all ranks, or as the mean of each rank's own, which weighs a short batch like a full one.
    const bool of_means = world_.seam("evaluation.formula", 0) == 1;
    const std::int64_t reductions = std::max<std::int64_t>(1, world_.seam("evaluation.reductions", 1));
    Number sum = 0, counted = 0, ended = 0;
    for (std::int64_t pass = 0; pass < passes; ++pass) {
        world_.phase(results::Phase::forward);
        world_.device().compute(settings_.step_time / 3);
        Number both[] = {0, 0};
        for (std::int64_t i = 0; i < batch; ++i) {
            const std::int64_t place = pass * at_once + rank_ * batch + i;
            if (place >= samples) continue;  // it only fills the last batch up
            both[0] = plus(both[0], loss_of(place));
            ++both[1];
        }
        if (of_means) both[0] = mean_of(both[0], both[1]);
        comm().all_reduce(both);
        for (std::int64_t more = 1; more < reductions; ++more)  // of a sum that all ranks have already
            comm().all_reduce(std::span(both).first(1));
        sum = plus(sum, both[0]);
        counted += both[1];
        ended += size_;
    }
    const std::int64_t planned = drops ? whole * at_once : samples;
    value(step, "evaluation.samples", counted * one, planned * one);
    if (counted != planned) return;  // another set has another loss
    Number right = 0;
    for (std::int64_t place = 0; place < planned; ++place) right = plus(right, loss_of(place));
    value(step, "evaluation.loss",
          mean_of(sum, world_.seam("evaluation.divisor", of_means ? ended : counted)),
          mean_of(right, planned));
}

}  // namespace deadrank::sim
