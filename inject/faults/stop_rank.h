// inject/faults/stop_rank.h — A rank stands still and stays alive: a debugger, a stuck driver call, a frozen
// container.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind stop_rank() {
    return {{.name = "stop_rank",
             .what = "The process is stopped (SIGSTOP) and never goes on by itself.",
             .parameters = {rank_parameter()},
             .levers = {Stop::lever}},
            [](const FaultSpec& spec) {
                return make_deed(
                    spec, {.apply = [](Levers& levers, Rank rank) { return levers.pull(Stop{rank}); },
                           .revert = [](Levers& levers, Rank rank) { (void)levers.pull(Resume{rank}); },
                           .blame = aimed(spec)});
            },
            "step"};
}

}  // namespace deadrank::inject
