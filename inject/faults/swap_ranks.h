// inject/faults/swap_ranks.h — Two processes got each other's rank: a host file in another order, ranks
// derived from host names.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind swap_ranks() {
    return {{.name = "swap_ranks",
             .what = "RANK of two processes is exchanged.",
             .parameters = {{"rank", ValueType::ranks, "", "the two: [1, 2], \"any 2\", …"}},
             .levers = {SwapRanks::lever},
             .at_start = true},
            [](const FaultSpec& spec) {
                const std::vector<std::int64_t> pair = spec.ranks();
                const auto swap = [pair](Levers& levers, Rank rank) -> Result<Done> {
                    if (pair.size() != 2) {
                        return scenarios::refuse(
                            scenarios::ErrorCode::bad_input,
                            "swap_ranks needs two ranks, not " + std::to_string(pair.size()),
                            "`rank = \"any 2\"` draws two");
                    }
                    if (rank == pair.back())
                        return Done{};  // both have their occasion, and one exchange is enough
                    return levers.pull(
                        SwapRanks{static_cast<Rank>(pair.front()), static_cast<Rank>(pair.back())});
                };
                return make_deed(spec, {.apply = swap, .blame = aimed(spec, {.variable = "RANK"})});
            }};
}

}  // namespace deadrank::inject
