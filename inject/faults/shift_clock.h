// inject/faults/shift_clock.h — A node's clock is wrong: no time server, a jump after a suspend. Time-outs
// and log times lie.
#pragma once

#include "inject/deed.h"
#include "inject/parameters.h"

namespace deadrank::inject {

inline FaultKind shift_clock() {
    return {
        {.name = "shift_clock",
         .what = "A node's clock jumps, or drifts.",
         .parameters = {node_parameter(),
                        {"by", ValueType::duration, "0s", "how far it jumps ahead"},
                        {"drift", ValueType::ratio, "0", "how much too fast it runs from then on"}},
         .levers = {"change_host.clock"}},
        [](const FaultSpec& spec) {
            const Time by = duration(spec, "by");
            const std::int64_t drift = spec.number("drift");
            const auto set = [nodes = nodes_of(spec)](Levers& levers, const HostChange& change) {
                return for_each(nodes, [&](int node) { return levers.change_host(node, change); });
            };
            return make_deed(
                spec,
                {.apply = [set, by, drift](
                              Levers& levers,
                              Rank) { return set(levers, {.clock_drift_ppb = drift, .clock_step = by}); },
                 .revert = [set, by](Levers& levers,
                                     Rank) { (void)set(levers, {.clock_drift_ppb = 0, .clock_step = -by}); },
                 .blame = aimed(spec, {.component = "clock"})});
        }};
}

}  // namespace deadrank::inject
