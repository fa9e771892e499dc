// inject/faults/delay_collective.h — A rank comes late to a call, once or again and again: a slow host
// thread, a busy queue.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind delay_collective() {
    return {{.name = "delay_collective",
             .what = "The rank waits before it makes the call.",
             .parameters = {rank_parameter(),
                            {"by", ValueType::duration, "100ms", "how long it waits", {}, false, 0}},
             .levers = {AlterCall::delay}},
            [](const FaultSpec& spec) { return make_alteration(spec, {.delay = duration(spec, "by")}); },
            "communication"};
}

}  // namespace deadrank::inject
