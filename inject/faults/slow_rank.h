// inject/faults/slow_rank.h — A rank computes slowly and nobody says why: a bad card, a noisy neighbour.
// Everybody waits for it.
#pragma once

#include "inject/deed.h"
#include "inject/parameters.h"

namespace deadrank::inject {

inline FaultKind slow_rank() {
    return {{.name = "slow_rank",
             .what = "Everything the rank computes takes longer.",
             .parameters = {rank_parameter(), {"factor", ValueType::factor, "2x", "how many times as long"}},
             .levers = {"change_device.slow"}},
            [](const FaultSpec& spec) {
                return make_deed(spec, {.apply =
                                            [factor = spec.number("factor")](Levers& levers, Rank rank) {
                                                return levers.change_device(rank, {.slow_permille = factor});
                                            },
                                        .revert =
                                            [](Levers& levers, Rank rank) {
                                                (void)levers.change_device(rank, {.slow_permille = 1000});
                                            },
                                        .blame = aimed(spec, {.component = "gpu"})});
            }};
}

}  // namespace deadrank::inject
