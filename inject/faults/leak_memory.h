// inject/faults/leak_memory.h — Memory is taken at every step and never given back: a kept graph, a cache
// without a bound.
#pragma once

#include "inject/deed.h"
#include "inject/parameters.h"

namespace deadrank::inject {

inline FaultKind leak_memory() {
    return {{.name = "leak_memory",
             .what = "Every step of these ranks leaves some memory behind.",
             .parameters = {rank_parameter(),
                            {"bytes", ValueType::bytes, "", "left behind by each step"},
                            {"where",
                             ValueType::choice,
                             "device",
                             "memory of the device, or of the host for all ranks there",
                             {"device", "host"}}},
             .levers = {"change_device.leak"}},
            [](const FaultSpec& spec) {
                const auto leak = [bytes = spec.number("bytes"), host = spec.text("where") == "host"](
                                      Levers& levers, Rank rank, bool on) {
                    const std::int64_t each = on ? bytes : 0;
                    return host ? levers.change_host(levers.node_of(rank), {.leak_per_step = each})
                                : levers.change_device(rank, {.leak_per_step = each});
                };
                return make_deed(
                    spec, {.apply = [leak](Levers& levers, Rank rank) { return leak(levers, rank, true); },
                           .revert = [leak](Levers& levers, Rank rank) { (void)leak(levers, rank, false); },
                           .blame = aimed(spec, {.component = "memory"})});
            }};
}

}  // namespace deadrank::inject
