// sim/collectives/dtype_bits.h — A number as the bits of a type on the wire, and bits read back as another
// type: where silent garbage comes from.
#pragma once

#include <cstdint>

#include "sim/world/comm.h"

namespace deadrank::sim {

std::uint64_t encode(Number value, Dtype dtype);
Number decode(std::uint64_t bits, Dtype dtype);  // NaN, and what does not fit, become ±2^61

}  // namespace deadrank::sim
