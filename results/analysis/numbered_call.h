// results/analysis/numbered_call.h — How sentences name one call of a group.
#pragma once

#include <cstdint>
#include <fmt/format.h>
#include <string>
#include <string_view>

#include "results/record/codes.h"

namespace deadrank::results::analysis {

// "all_reduce (operation 41 of world)", "recv (message 3 of pp)". The number counts all collectives of the
// group, or all of a rank's messages there. A fault counts otherwise: "before all_reduce 7" is a rank's
// seventh all_reduce.
inline std::string numbered_call(Op op, std::int64_t seq, std::string_view comm) {
    const bool message = op == Op::send || op == Op::recv;
    return fmt::format("{} ({} {} of {})", name_of(op), message ? "message" : "operation", seq, comm);
}

}  // namespace deadrank::results::analysis
