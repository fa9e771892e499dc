// inject/faults/retype_collective.h — A rank calls with another element type: a cast that one code path
// forgot.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind retype_collective() {
    return {{.name = "retype_collective",
             .what = "The call moves elements of another type.",
             .parameters = {rank_parameter(),
                            {"to",
                             ValueType::choice,
                             "f16",
                             "element type",
                             {"i8", "i32", "i64", "f16", "bf16", "f32", "f64"}}},
             .levers = {AlterCall::dtype}},
            [](const FaultSpec& spec) {
                return make_alteration(spec, {.dtype = results::dtype_named(spec.text("to"))});
            },
            "collective"};
}

}  // namespace deadrank::inject
