// tests/mutation/turned.h — What a mutated copy of a detector asks: is this threshold, or this comparison,
// the one that is changed now? Mutants are numbered by mutants.py.
#pragma once

#include <type_traits>

namespace deadrank::mutation {

inline int turned = -1;  // the mutant that is on; -1: none

// The threshold, or twice (mutant `number`) or half (the one after it) of it. Where a constant is needed it
// is the threshold itself.
template <class Limit>
constexpr Limit dial(int number, Limit limit) {
    if (std::is_constant_evaluated() || (turned != number && turned != number + 1)) return limit;
    return turned == number ? static_cast<Limit>(limit * 2) : static_cast<Limit>(limit / 2);
}

// The comparison, or its opposite.
constexpr bool flip(int number, bool holds) {
    return std::is_constant_evaluated() || turned != number ? holds : !holds;
}

}  // namespace deadrank::mutation
