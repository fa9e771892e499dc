// inject/faults/pause_rank.h — A rank stands still for a while: garbage collection, a storm of page faults, a
// machine being moved.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind pause_rank() {
    return {{.name = "pause_rank",
             .what = "The process is stopped and goes on after a while.",
             .parameters = {rank_parameter(),
                            {"for", ValueType::duration, "5s", "how long it stands still", {}, false, 1}},
             .levers = {Stop::lever}},
            [](const FaultSpec& spec) {
                return make_deed(
                    spec, {.apply = [](Levers& levers, Rank rank) { return levers.pull(Stop{rank}); },
                           .revert = [](Levers& levers, Rank rank) { (void)levers.pull(Resume{rank}); },
                           .blame = aimed(spec),
                           .rhythm = {.on = duration(spec, "for")}});
            },
            "step"};
}

}  // namespace deadrank::inject
