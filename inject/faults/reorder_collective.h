// inject/faults/reorder_collective.h — A rank makes two calls in the other order: a set that was iterated,
// hooks that fire as they arrive. Order alone decides what pairs with what, so both calls meet the wrong
// partner.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind reorder_collective() {
    return {{.name = "reorder_collective",
             .what = "A call changes places with the rank's next one on that communicator.",
             .parameters = {rank_parameter()},
             .levers = {AlterCall::hold}},
            [](const FaultSpec& spec) { return make_alteration(spec, {.hold = true}); },
            "collective"};
}

}  // namespace deadrank::inject
