// sim/collectives/element_reduction.h — Reductions over elements as they lie in memory, in rank order: the
// same contributions give the same bits in every run and under every compiler.
#pragma once

#include <cstddef>
#include <span>

#include "sim/world/comm.h"

namespace deadrank::sim {

// Accumulates into `result`, whose size is a multiple of the element's. f16 and bf16 are added as floats and
// rounded to nearest, ties to even, after each addition, as a ring of 16-bit kernels does. Integers wrap. NaN
// wins a maximum and a minimum. Types that no library reduces (f8) keep the first contribution.
class ElementReduction {
public:
    ElementReduction(Dtype dtype, ReduceOp reduce, std::span<std::byte> result)
        : dtype_(dtype), reduce_(reduce), result_(result) {}

    void take(std::span<const std::byte> contribution);  // a shorter one counts as zeros where it ends
    void finish(Rank members);                           // an average divides here

private:
    Dtype dtype_;
    ReduceOp reduce_;
    std::span<std::byte> result_;
    bool first_ = true;
};

}  // namespace deadrank::sim
