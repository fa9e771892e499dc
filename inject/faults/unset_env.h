// inject/faults/unset_env.h — A variable that the launcher, the container or the scheduler should have passed
// on is not there.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind unset_env() {
    return {{.name = "unset_env",
             .what = "An environment variable of the process is missing.",
             .parameters = {rank_parameter(), {"name", ValueType::text, "", "the variable"}},
             .levers = {UnsetEnv::lever},
             .at_start = true},
            [](const FaultSpec& spec) {
                const std::string name = spec.text("name");
                return make_deed(spec, {.apply =
                                            [name](Levers& levers, Rank rank) {
                                                return levers.pull(UnsetEnv{rank, name});
                                            },
                                        .blame = aimed(spec, {.variable = name})});
            }};
}

}  // namespace deadrank::inject
