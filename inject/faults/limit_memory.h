// inject/faults/limit_memory.h — The device has less memory than the job was tuned for: a neighbour on the
// card, a smaller card.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind limit_memory() {
    return {{.name = "limit_memory",
             .what = "The device memory of these ranks is limited.",
             .parameters = {rank_parameter(), {"bytes", ValueType::bytes, "", "what there is", {}, false, 0}},
             .levers = {ChangeDevice::memory}},
            [](const FaultSpec& spec) {
                return make_device_fault(spec, {.memory_limit = spec.number("bytes")}, {.memory_limit = -1},
                                         "memory");
            }};
}

}  // namespace deadrank::inject
