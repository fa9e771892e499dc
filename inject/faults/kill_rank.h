// inject/faults/kill_rank.h — A rank vanishes on the way to wherever it was going: the out-of-memory killer,
// a crash in native code. Peers see no error of their own. They only wait.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind kill_rank() {
    return {{.name = "kill_rank",
             .what = "The process dies by a signal. It says nothing.",
             .parameters = {rank_parameter(),
                            {"signal",
                             ValueType::integer,
                             "9",
                             "the signal: 9 killed, 11 segmentation fault, 6 aborted, 15 asked to end",
                             {},
                             false,
                             1}},
             .levers = {Kill::lever}},
            [](const FaultSpec& spec) {
                return make_deed(
                    spec, {.apply =
                               [signal = static_cast<int>(spec.number("signal"))](Levers& levers, Rank rank) {
                                   return levers.pull(Kill{rank, signal});
                               },
                           .blame = aimed(spec)});
            },
            "step"};
}

}  // namespace deadrank::inject
