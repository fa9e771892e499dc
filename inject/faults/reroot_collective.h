// inject/faults/reroot_collective.h — A rank names another root, or another peer: a global rank where the
// rank in a group was meant.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind reroot_collective() {
    return {{.name = "reroot_collective",
             .what = "The call has another root or peer.",
             .parameters = {rank_parameter(),
                            {"to",
                             ValueType::integer,
                             "",
                             "the root or peer it names, as a rank of that communicator",
                             {},
                             false,
                             0}},
             .levers = {AlterCall::root}},
            [](const FaultSpec& spec) {
                return make_alteration(spec, {.root = static_cast<std::int32_t>(spec.number("to"))});
            },
            "communication"};
}

}  // namespace deadrank::inject
