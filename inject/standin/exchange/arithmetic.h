// inject/standin/exchange/arithmetic.h — Reductions over every element type that NCCL has, in rank order: the
// same inputs give the same bits in every run.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "inject/standin/exchange/wire.h"

namespace deadrank::standin {

std::size_t size_of(Element);

struct Share {
    std::string bytes;        // what one member sent
    std::uint64_t scale = 0;  // its factor, for scaled_sum
};

// Bytes [begin, end) of the result, taken over all shares, as elements of this type. Shorter shares count as
// zeros where they end.
void reduce(std::span<const Share* const> shares, std::size_t begin, std::size_t end, Element element,
            Reduction reduction, std::string& result);

}  // namespace deadrank::standin
