// sim/workloads/module_pass.cpp — The same arithmetic as train_sample, cut at the borders of modules.
#include "sim/workloads/module_pass.h"

namespace deadrank::sim {

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
    if (module < dense_) return true;
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

}  // namespace deadrank::sim
