// sim/framework_parts/tensor_checks.h — What torch checks of a collective's own arguments before anything is
// sent, and the words in which it refuses them.
#pragma once

#include <cstdint>

#include "sim/world/world.h"

namespace deadrank::sim {

// all_gather_into_tensor: the output holds size × input elements, of one type. Seams gather.output and
// gather.type. Throws RankFailure with torch's words.
void check_gather(World& world, const Comm& comm, std::int64_t input, std::int64_t output);

// reduce_scatter_tensor: the input holds size × output elements, of one type. Seams scatter.input and
// scatter.type.
void check_scatter(World& world, const Comm& comm, std::int64_t input, std::int64_t output);

// A dimension that an operation is asked to work along, of a tensor that has `dimensions`. Seam
// tensor.dimension.
void check_dimension(World& world, std::int64_t dimension, std::int64_t dimensions);

}  // namespace deadrank::sim
