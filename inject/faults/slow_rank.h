// inject/faults/slow_rank.h — A rank computes slowly and nobody says why: a bad card, a noisy neighbour.
// Everybody waits for it.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind slow_rank() {
    return {{.name = "slow_rank",
             .what = "Everything the rank computes takes longer.",
             .parameters = {rank_parameter(),
                            {"factor", ValueType::factor, "2x", "how many times as long", {}, false, 1}},
             .levers = {ChangeDevice::slow}},
            [](const FaultSpec& spec) {
                return make_device_fault(spec, {.slow_permille = spec.number("factor")},
                                         {.slow_permille = 1000});
            }};
}

}  // namespace deadrank::inject
