// inject/faults/set_env.h — A rank starts with another environment than it should: a stale launch script, one
// node's own profile.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind set_env() {
    return {{.name = "set_env",
             .what = "An environment variable of the process has another value.",
             .parameters = {rank_parameter(),
                            {"name", ValueType::text, "", "the variable"},
                            {"value", ValueType::text, "", "its value; absent = empty", {}, true}},
             .levers = {SetEnv::lever},
             .at_start = true},
            [](const FaultSpec& spec) {
                const std::string name = spec.text("name");
                const std::string value = spec.text("value");
                return make_deed(spec, {.apply =
                                            [name, value](Levers& levers, Rank rank) {
                                                return levers.pull(SetEnv{rank, name, value});
                                            },
                                        .blame = aimed(spec, {.variable = name})});
            }};
}

}  // namespace deadrank::inject
