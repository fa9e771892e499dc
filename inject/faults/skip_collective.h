// inject/faults/skip_collective.h — A rank leaves a call out: a branch that only it takes, a batch that only
// it lacks.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind skip_collective() {
    return {{.name = "skip_collective",
             .what = "The rank goes on without making the call.",
             .parameters = {rank_parameter()},
             .levers = {AlterCall::skip}},
            [](const FaultSpec& spec) { return make_alteration(spec, {.skip = true}); },
            "collective"};
}

}  // namespace deadrank::inject
