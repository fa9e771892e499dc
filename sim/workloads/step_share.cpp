// sim/workloads/step_share.cpp — One rank's samples of one step, forward and backward: through the whole
// model, through modules that come and go, and in plain serial code as the reference that any layout must
// equal.
#include "sim/workloads/step_share.h"

#include <algorithm>
#include <utility>

#include "sim/workloads/job.h"

namespace deadrank::sim {

// ── Micro-batches of equal size, the last may be smaller.

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

namespace {

// One sample's loss and gradient, times what it weighs.
Number train_weighed(const ModelShape& shape, std::span<const Number> parameters, std::int64_t sample,
                     std::int64_t weight, std::span<Number> gradient, const Dropout& dropout,
                     std::vector<Number>& between) {
    if (weight == 1) return train_sample(shape, parameters, sample, gradient, dropout, between);
    std::vector<Number> own(parameters.size(), 0);
    const Number loss = train_sample(shape, parameters, sample, own, dropout, between);
    for (std::size_t i = 0; i < own.size(); ++i) gradient[i] = plus(gradient[i], scaled(own[i], weight, 1));
    return scaled(loss, weight, 1);
}

void divide(std::span<Number> numbers, std::int64_t divisor) {
    for (Number& value : numbers) value = scaled(value, 1, divisor);
}

// The second term of the loss, half the square of each parameter, which each micro-batch adds.
struct SecondTerm {
    std::int64_t weight_ppb = 0;
    std::int64_t divisor = 1;
    bool linear = false;  // a wrong formula: the sum of the parameters

    // To the loss and the gradient of samples that weigh so much, since both are divided by that later.
    Number add(std::span<const Number> parameters, std::int64_t weight, std::span<Number> gradient) const {
        constexpr std::int64_t billion = 1'000'000'000;
        Number loss = 0;
        for (std::size_t i = 0; weight_ppb > 0 && i < parameters.size(); ++i) {
            const Number own = scaled(linear ? one : parameters[i], weight_ppb, billion);
            const Number half =
                linear ? scaled(parameters[i], weight_ppb, billion) : times(own, parameters[i]) / 2;
            gradient[i] = plus(gradient[i], scaled(own, weight, divisor));
            loss = plus(loss, scaled(half, weight, divisor));
        }
        return loss;
    }
};

SecondTerm second_term(Job& job) {
    const std::int64_t weight = job.settings().auxiliary;
    if (weight <= 0) return {};
    World& world = job.world();
    return {.weight_ppb = weight,
            .divisor = std::max<std::int64_t>(1, world.seam("auxiliary.divisor", 1)),
            .linear = world.seam("auxiliary.formula", 0) != 0};
}

// A layer whose parameters want no gradient, counted from 1.
void freeze(const ModelShape& shape, std::int64_t layer, std::span<Number> gradient) {
    if (layer < 1 || layer > shape.layers + shape.experts) return;
    const auto own = static_cast<std::size_t>(shape.layer_width());
    const auto part = gradient.subspan(static_cast<std::size_t>(layer - 1) * own, own);
    std::fill(part.begin(), part.end(), 0);
}

}  // namespace

Share train_share(Job& job, std::int64_t step, std::span<const Number> parameters,
                  const std::vector<std::int64_t>& samples, Rank replica) {
    Share share;
    train_share(job, step, parameters, samples, replica, share);
    return share;
}

void train_share(Job& job, std::int64_t step, std::span<const Number> parameters,
                 const std::vector<std::int64_t>& samples, Rank replica, Share& share) {
    const std::size_t size = micro_batch_size(job, samples.size());
    const bool audits = job.audits();
    const bool by_tokens = job.settings().sample_tokens == Tokens::uneven;
    const auto by = static_cast<Normaliser>(
        job.world().seam("loss.normaliser", static_cast<std::int64_t>(job.settings().normalise)));
    const ModelShape shape = job.shape();
    const SecondTerm second = second_term(job);
    const std::int64_t frozen = job.world().seam("layer.frozen", job.settings().frozen_layer);
    share.loss = 0;
    share.gradient.assign(parameters.size(), 0);
    share.unfinished.clear();
    share.tokens = share.micro_batches = 0;
    share.all_layers = false;
    share.by = by;
    std::vector<Number>& fresh = share.fresh;
    Number expected = 0;  // what the micro-batches add up to
    Dropout dropout = job.dropout(step, replica, samples.size());
    for (std::size_t from = 0; from < samples.size(); from += size) {
        fresh.assign(parameters.size(), 0);
        Number loss = 0;
        std::int64_t tokens = 0;
        for (std::size_t i = from; i < std::min(from + size, samples.size()); ++i) {
            const std::int64_t weight = by_tokens ? tokens_of(samples[i]) : 1;
            loss = plus(loss,
                        train_weighed(shape, parameters, samples[i], weight, fresh, dropout, share.between));
            tokens += weight;
            share.all_layers |= !takes_branch(samples[i], shape.branch);
            ++dropout.counter;
        }
        loss = plus(loss, second.add(parameters, tokens, fresh));
        freeze(shape, frozen, fresh);
        if (by == Normaliser::micro_batch) {
            divide(fresh, tokens);
            loss = scaled(loss, 1, tokens);
        }
        share.loss = plus(share.loss, loss);
        share.tokens += tokens;
        ++share.micro_batches;
        if (audits) expected = plus(expected, checksum(fresh));
        if (from == 0) {
            std::swap(share.gradient, fresh);
            continue;
        }
        share.unfinished = share.gradient;
        // A new micro-batch adds to the accumulated gradient; forgetting to is a bug seen in the field.
        if (!job.world().block("gradient.accumulate"))
            std::fill(share.gradient.begin(), share.gradient.end(), 0);
        for (std::size_t i = 0; i < fresh.size(); ++i) share.gradient[i] = plus(share.gradient[i], fresh[i]);
    }
    if (audits) job.value(step, "gradient.accumulated", checksum(share.gradient), expected);
    if (by == Normaliser::rank) {
        divide(share.gradient, share.tokens);
        share.loss = scaled(share.loss, 1, share.tokens);
    }
}

std::int64_t normaliser(Job& job, Comm& group, const Share& share, std::size_t samples) {
    switch (share.by) {
        case Normaliser::samples:
            return std::int64_t{group.size()} * static_cast<std::int64_t>(samples);
        case Normaliser::rank:
            return group.size();
        case Normaliser::micro_batch:
            return group.size() * share.micro_batches;
        case Normaliser::step:
            break;
    }
    Number all[] = {share.tokens};
    if (!job.world().block("tokens.all_reduce")) return group.size() * share.tokens;
    group.all_reduce(all);
    return all[0];
}

// The same arithmetic as train_sample, cut at the borders of modules.
ModulePass::ModulePass(const ModelShape& shape, const std::vector<std::int64_t>& samples, Dropout dropout)
    : shape_(shape),
      samples_(samples),
      width_(static_cast<std::size_t>(shape.width)),
      dense_(static_cast<std::size_t>(shape.layers)),
      depth_(dense_ + (shape.experts > 0 ? 1 : 0)),
      levels_(samples.size(), std::vector<Number>((depth_ + 1) * width_)) {
    for (std::size_t s = 0; s < samples.size(); ++s, ++dropout.counter) {
        for (std::size_t j = 0; j < width_; ++j)
            levels_[s][j] = dropout.feature(samples[s], static_cast<int>(j));
    }
}

bool ModulePass::takes(std::size_t sample, std::size_t module) const {
    if (module < dense_) return module + 1 < dense_ || !takes_branch(samples_[sample], shape_.branch);
    return static_cast<std::size_t>(expert_of(samples_[sample], shape_.experts)) == module - dense_;
}

bool ModulePass::needs(std::size_t module) const {
    for (std::size_t s = 0; s < samples_.size(); ++s) {
        if (takes(s, module)) return true;
    }
    return false;
}

std::span<Number> ModulePass::level(std::size_t sample, std::size_t depth) {
    return std::span(levels_[sample]).subspan(depth * width_, width_);
}

void ModulePass::skip_module(std::size_t module) {
    if (module + 1 != dense_ || shape_.branch == 0) return;
    for (std::size_t s = 0; s < samples_.size(); ++s) {
        if (!takes(s, module)) std::ranges::copy(level(s, module), level(s, module + 1).begin());
    }
}

void ModulePass::forward(std::size_t module, std::span<const Number> parameters) {
    for (std::size_t s = 0; s < samples_.size(); ++s) {
        if (takes(s, module))
            forward_layer(parameters, level(s, depth_of(module)), level(s, depth_of(module) + 1));
    }
}

Number ModulePass::loss() {
    Number sum = 0;
    for (std::size_t s = 0; s < samples_.size(); ++s) {
        const Number error = head_error(level(s, depth_), answer(samples_[s], shape_));
        sum = plus(sum, head_loss(error));
        above_.emplace_back(width_, error);
    }
    return sum;
}

void ModulePass::backward(std::size_t module, std::span<const Number> parameters,
                          std::span<Number> gradient) {
    for (std::size_t s = 0; s < samples_.size(); ++s) {
        if (!takes(s, module)) continue;
        std::vector<Number> below(width_, 0);
        backward_layer(parameters, level(s, depth_of(module)), above_[s], gradient, below);
        above_[s] = std::move(below);
    }
}

std::int64_t ModulePass::activations() const {
    return static_cast<std::int64_t>(levels_.size() * (depth_ + 1) * width_);
}

// Serial training, step by step.
Reference::Reference(const ModelShape& shape, const SamplerSettings& sampling, const Recipe& recipe)
    : shape_(shape),
      sampling_(sampling),
      sampler_(sampling),
      recipe_(recipe),
      next_(recipe.first_step),
      parameters_(initial_parameters(shape, recipe.first_seed)) {}

void Reference::advance_to(std::int64_t step) {
    for (; next_ <= step; ++next_) {
        std::vector<Number> gradient(parameters_.size(), 0), between;
        Number sum = 0;
        std::int64_t everything = 0;
        for (std::int64_t replica = 0; replica < sampling_.replicas; ++replica) {
            Dropout dropout{recipe_.dropout, recipe_.seed + replica, next_ * sampling_.batch};
            for (const std::int64_t sample : sampler_.batch(next_ + recipe_.ahead, replica)) {
                const std::int64_t weight = recipe_.by_tokens ? tokens_of(sample) : 1;
                sum =
                    plus(sum, train_weighed(shape_, parameters_, sample, weight, gradient, dropout, between));
                everything += weight;
                ++dropout.counter;
            }
        }
        const SecondTerm second{.weight_ppb = recipe_.auxiliary_ppb};
        sum = plus(sum, second.add(parameters_, everything, gradient));
        freeze(shape_, recipe_.frozen, gradient);
        gradient_norm_ = scaled(norm(gradient), 1, everything);
        if (recipe_.clip_ppb > 0) clip_to(gradient, gradient_norm_, recipe_.clip_ppb);
        descend(parameters_, gradient, everything,
                recipe_.corrects ? corrected_rate(recipe_.rate_ppb, next_) : recipe_.rate_ppb);
        loss_ = scaled(sum, 1, everything);
    }
}

}  // namespace deadrank::sim
