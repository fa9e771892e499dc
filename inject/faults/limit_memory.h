// inject/faults/limit_memory.h — The device has less memory than the job was tuned for: a neighbour on the
// card, a smaller card.
#pragma once

#include "inject/deed.h"
#include "inject/parameters.h"

namespace deadrank::inject {

inline FaultKind limit_memory() {
    return {{.name = "limit_memory",
             .what = "The device memory of these ranks is limited.",
             .parameters = {rank_parameter(), {"bytes", ValueType::bytes, "", "what there is"}},
             .levers = {"change_device.memory"}},
            [](const FaultSpec& spec) {
                return make_deed(
                    spec,
                    {.apply = [bytes = spec.number("bytes")](
                                  Levers& levers,
                                  Rank rank) { return levers.change_device(rank, {.memory_limit = bytes}); },
                     .revert = [](Levers& levers,
                                  Rank rank) { (void)levers.change_device(rank, {.memory_limit = -1}); },
                     .blame = aimed(spec, {.component = "memory"})});
            }};
}

}  // namespace deadrank::inject
