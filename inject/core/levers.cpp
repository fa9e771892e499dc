// inject/core/levers.cpp — What a bent value becomes.
#include "inject/core/levers.h"

#include <limits>

namespace deadrank::inject {

std::int64_t bent(std::int64_t value, const Bend& bend) {
    if (bend.set_it) return bend.set;
    __extension__ using Wide = __int128;
    const Wide exact = Wide{value} * bend.multiply / bend.divide + bend.add;
    const Wide least = std::numeric_limits<std::int64_t>::min();
    const Wide most = std::numeric_limits<std::int64_t>::max();
    return static_cast<std::int64_t>(exact < least ? least : exact > most ? most : exact);
}

}  // namespace deadrank::inject
