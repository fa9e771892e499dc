// sim/workloads/share.cpp — Micro-batches of equal size, the last may be smaller.
#include "sim/workloads/share.h"

#include <algorithm>

namespace deadrank::sim {

namespace {

std::size_t micro_batch_size(const Job& job, std::size_t samples) {
    const auto count = static_cast<std::size_t>(std::max<std::int64_t>(1, job.settings().micro_batches));
    return std::max<std::size_t>(1, (samples + count - 1) / count);
}

}  // namespace

std::int64_t activations_of(const Job& job, std::size_t samples) {
    const ModelShape shape = job.shape();
    return static_cast<std::int64_t>(micro_batch_size(job, samples)) * (shape.layers + 1) * shape.width;
}

Share train_share(Job& job, std::int64_t step, std::span<const Number> parameters,
                  const std::vector<std::int64_t>& samples, Rank replica) {
    const std::size_t size = micro_batch_size(job, samples.size());
    const bool audits = job.audits();
    Share share{0, std::vector<Number>(parameters.size(), 0), {}};
    std::vector<Number> fresh;
    Number expected = 0;  // what the micro-batches add up to
    Dropout dropout = job.dropout(step, replica, samples.size());
    for (std::size_t from = 0; from < samples.size(); from += size) {
        fresh.assign(parameters.size(), 0);
        for (std::size_t i = from; i < std::min(from + size, samples.size()); ++i) {
            share.loss = plus(share.loss, train_sample(job.shape(), parameters, samples[i], fresh, dropout));
            ++dropout.counter;
        }
        if (audits) expected = plus(expected, checksum(fresh));
        share.unfinished = share.gradient;
        // A new micro-batch adds to the accumulated gradient; forgetting to is a bug seen in the field.
        if (from > 0 && !job.world().block("gradient.accumulate"))
            std::fill(share.gradient.begin(), share.gradient.end(), 0);
        for (std::size_t i = 0; i < fresh.size(); ++i) share.gradient[i] = plus(share.gradient[i], fresh[i]);
    }
    if (audits) job.value(step, "gradient.accumulated", checksum(share.gradient), expected);
    return share;
}

}  // namespace deadrank::sim
