// sim/workloads/step_share.h — One rank's samples of one step, forward and backward: through the whole model,
// through modules that come and go, and in plain serial code as the reference that any layout must equal.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/workloads/model.h"
#include "sim/workloads/sampler.h"
#include "sim/workloads/settings.h"

namespace deadrank::sim {

// ── One rank's share of a step: its samples in micro-batches, forward and backward, gradients added up.

class Job;

struct Share {
    Number loss = 0;
    std::vector<Number> gradient;
    std::vector<Number> unfinished;  // the gradient before the last micro-batch; empty where it is the first
    std::int64_t tokens = 0;         // that weigh in it; a sample counts one where all are alike
    std::int64_t micro_batches = 0;
    bool all_layers = false;  // some sample passed each of them
    Normaliser by = Normaliser::samples;
    std::vector<Number> fresh, between;  // of a micro-batch, and within one sample: memory that is used again
};

// `replica`: place among those that hold the same parameters; it decides what dropout drops.
Share train_share(Job& job, std::int64_t step, std::span<const Number> parameters,
                  const std::vector<std::int64_t>& samples, Rank replica);
// The same in the memory of an earlier step's share.
void train_share(Job& job, std::int64_t step, std::span<const Number> parameters,
                 const std::vector<std::int64_t>& samples, Rank replica, Share& share);

// What an optimizer that counts its steps makes of its learning rate when it has taken so many.
constexpr std::int64_t corrected_rate(std::int64_t rate, std::int64_t taken) {
    return rate * (taken + 1) / (taken + 2);
}

// What the gradient and the loss of all ranks of `group` are divided by, as setting `normalise` says.
std::int64_t normaliser(Job& job, Comm& group, const Share& share, std::size_t samples);

// Samples that are in flight at once, and what their activations take.
std::int64_t activations_of(const Job& job, std::size_t samples);

// A rank's samples of one step on their way through a model whose modules come and go one at a time: dense
// layers, then the expert that each sample takes.
class ModulePass {
public:
    ModulePass(const ModelShape& shape, const std::vector<std::int64_t>& samples, Dropout dropout);

    bool needs(std::size_t module) const;  // does any sample take it?
    void skip_module(std::size_t module);  // for the samples that go around this layer
    void forward(std::size_t module, std::span<const Number> parameters);
    Number loss();  // of all samples, once they are through
    void backward(std::size_t module, std::span<const Number> parameters, std::span<Number> gradient);
    std::int64_t activations() const;  // numbers kept for backward

private:
    bool takes(std::size_t sample, std::size_t module) const;
    std::span<Number> level(std::size_t sample, std::size_t depth);
    std::size_t depth_of(std::size_t module) const { return module < dense_ ? module : dense_; }

    ModelShape shape_;
    std::vector<std::int64_t> samples_;
    std::size_t width_;
    std::size_t dense_;  // layers before the experts
    std::size_t depth_;  // modules that one sample passes
    std::vector<std::vector<Number>> levels_;
    std::vector<std::vector<Number>> above_;
};

// The same training on one rank, in plain serial code on the same samples: what any layout must equal. No
// fault touches it: it asks no seam and no block. Operators do this too, with a small run of trusted code.
class Reference {
public:
    struct Recipe {
        std::int64_t seed = 0;
        std::int64_t rate_ppb = 0;
        std::int64_t dropout = 0;        // one feature in so many; 0 = none
        std::int64_t clip_ppb = 0;       // 0 = none
        std::int64_t auxiliary_ppb = 0;  // weight of the second term; 0 = none
        std::int64_t frozen = 0;         // layer without gradient, from 1; 0 = none
        bool corrects = false;           // takes its first steps shorter
        bool by_tokens = false;          // a sample weighs as many tokens as it has
        std::int64_t first_seed = 0;     // of the parameters that training begins with
        std::int64_t first_step = 0;
        std::int64_t ahead = 0;  // batches that are read before that of step 0 would be
    };
    Reference(const ModelShape& shape, const SamplerSettings& sampling, const Recipe& recipe);

    // Trains up to and including `step`; steps must not go back.
    void advance_to(std::int64_t step);

    Number loss() const { return loss_; }                    // mean over the global batch of the last step
    Number gradient_norm() const { return gradient_norm_; }  // of the mean gradient
    std::span<const Number> parameters() const { return parameters_; }

private:
    ModelShape shape_;
    SamplerSettings sampling_;
    Sampler sampler_;
    Recipe recipe_;
    std::int64_t next_ = 0;
    std::vector<Number> parameters_;
    Number loss_ = 0;
    Number gradient_norm_ = 0;
};

}  // namespace deadrank::sim
