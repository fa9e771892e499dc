// inject/faults/shift_clock.h — A node's clock is wrong: no time server, a jump after a suspend. Time-outs
// and log times lie.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind shift_clock() {
    return {{.name = "shift_clock",
             .what = "A node's clock jumps, or drifts.",
             .parameters = {node_parameter(),
                            {"by", ValueType::duration, "0s", "how far it jumps ahead"},
                            {"drift", ValueType::ratio, "0", "how much too fast it runs from then on"}},
             .levers = {ChangeHost::clock}},
            [](const FaultSpec& spec) {
                const Time by = duration(spec, "by");
                return make_host_fault(spec, {.clock_drift_ppb = spec.number("drift"), .clock_step = by},
                                       {.clock_drift_ppb = 0, .clock_step = -by}, "clock");
            }};
}

}  // namespace deadrank::inject
