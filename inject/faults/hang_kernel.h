// inject/faults/hang_kernel.h — A call is enqueued and its kernel never ends: a device that stopped
// answering. Peers hang with it.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind hang_kernel() {
    return {{.name = "hang_kernel",
             .what = "The call begins and never completes.",
             .parameters = {rank_parameter()},
             .levers = {AlterCall::hang}},
            [](const FaultSpec& spec) { return make_alteration(spec, {.never_completes = true}); },
            "collective"};
}

}  // namespace deadrank::inject
