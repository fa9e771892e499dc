// sim/framework_parts/tensor_checks.cpp — Texts: torch.distributed 2.11 and torch's indexing.
#include "sim/framework_parts/tensor_checks.h"

#include <fmt/format.h>

namespace deadrank::sim {

namespace {

[[noreturn]] void refuse_type() {
    throw RankFailure("TypeError: output tensor must have the same type as input tensor");
}

}  // namespace

void check_gather(World& world, const Comm& comm, std::int64_t input, std::int64_t output) {
    if (world.seam("gather.type", 0) != 0) refuse_type();
    if (world.seam("gather.output", output) != input * comm.size()) {
        throw RankFailure(
            "ValueError: output tensor size must be equal to world_size times input tensor size");
    }
}

void check_scatter(World& world, const Comm& comm, std::int64_t input, std::int64_t output) {
    if (world.seam("scatter.type", 0) != 0) refuse_type();
    if (world.seam("scatter.input", input) != output * comm.size()) {
        throw RankFailure("ValueError: input tensor must be the same size as output size times world size");
    }
}

void check_dimension(World& world, std::int64_t dimension, std::int64_t dimensions) {
    const std::int64_t asked = world.seam("tensor.dimension", dimension);
    if (asked >= -dimensions && asked < dimensions) return;
    throw RankFailure(
        fmt::format("IndexError: Dimension out of range (expected to be in range of [{}, {}], "
                    "but got {})",
                    -dimensions, dimensions - 1, asked));
}

}  // namespace deadrank::sim
