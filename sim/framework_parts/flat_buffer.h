// sim/framework_parts/flat_buffer.h — Many tensors in one buffer, as frameworks lay gradients out before they
// reduce them: offsets with alignment, padding at the end, and space that is never written.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "sim/world/world.h"

namespace deadrank::sim {

struct FlatPlan {
    std::int64_t align = 1;   // a tensor begins at a multiple of this
    std::int64_t parts = 1;   // the size is a multiple of parts × align, so that ranks share it evenly
    Number unwritten = 0;     // what fresh memory holds
    bool one_stream = false;  // copies and reductions follow each other, so that none can be early
};

// Where tensors of these lengths lie.
class FlatLayout {
public:
    FlatLayout(std::vector<std::int64_t> lengths, const FlatPlan& plan);

    std::int64_t size() const { return size_; }
    std::size_t tensors() const { return lengths_.size(); }
    std::int64_t length(std::size_t tensor) const { return lengths_[tensor]; }
    std::int64_t offset(std::size_t tensor) const { return offsets_[tensor]; }

private:
    std::vector<std::int64_t> lengths_, offsets_;
    std::int64_t size_ = 0;
};

// A buffer that lives as long as the job and is filled anew in every step.
class FlatBuffer {
public:
    FlatBuffer(World& world, FlatLayout layout, const FlatPlan& plan);

    // Copies tensors that lie one after another in `tensors` to their places. `used[i]` false: tensor i has
    // nothing to copy in this step, and its place keeps what it holds. Throws what a slice that does not fit
    // raises in torch.
    void fill(std::span<const Number> tensors, const std::vector<bool>& used);

    // The way back, into `tensors` one after another.
    void read(std::span<Number> tensors) const;

    std::span<Number> numbers() { return numbers_; }
    const FlatLayout& layout() const { return layout_; }

    // Those that count as filled: what lies behind is not reduced.
    std::span<Number> filled();

private:
    World& world_;
    FlatLayout layout_;
    bool one_stream_;
    std::vector<Number> numbers_;
};

}  // namespace deadrank::sim
