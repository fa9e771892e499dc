// sim/workloads/module_pass.h — A rank's samples of one step on their way through a model whose modules come
// and go one at a time: dense layers, then the expert that each sample takes.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/workloads/model.h"

namespace deadrank::sim {

class ModulePass {
public:
    ModulePass(const ModelShape& shape, const std::vector<std::int64_t>& samples, Dropout dropout);

    bool needs(std::size_t module) const;  // does any sample take it?
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

}  // namespace deadrank::sim
