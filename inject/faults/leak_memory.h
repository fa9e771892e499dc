// inject/faults/leak_memory.h — Memory is taken at every step and never given back: a kept graph, a cache
// without a bound.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind leak_memory() {
    return {{.name = "leak_memory",
             .what = "Every step of these ranks leaves some memory behind.",
             .parameters = {rank_parameter(),
                            {"bytes", ValueType::bytes, "", "left behind by each step", {}, false, 1},
                            {"where",
                             ValueType::choice,
                             "device",
                             "memory of the device, or of the host for all ranks there",
                             {"device", "host"}}},
             .levers = {ChangeDevice::leak}},
            [](const FaultSpec& spec) {
                const std::int64_t bytes = spec.number("bytes");
                if (spec.text("where") == "host") {
                    return make_host_fault(spec, {.leak_per_step = bytes}, {.leak_per_step = 0}, "memory");
                }
                return make_device_fault(spec, {.leak_per_step = bytes}, {.leak_per_step = 0}, "memory");
            }};
}

}  // namespace deadrank::inject
