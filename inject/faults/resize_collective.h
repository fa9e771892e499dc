// inject/faults/resize_collective.h — A rank brings another number of elements than its peers: an uneven
// shard, a tensor of another shape.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind resize_collective() {
    return {{.name = "resize_collective",
             .what = "The call moves more or fewer elements.",
             .parameters = {rank_parameter(),
                            {"by", ValueType::integer, "-1", "elements more (or fewer, when negative)"},
                            {"to", ValueType::integer, "", "elements in all; overrules `by`", {}, true, 0}},
             .levers = {AlterCall::count}},
            [](const FaultSpec& spec) {
                return make_alteration(
                    spec, {.count_change = spec.number("by"), .count_set = spec.number("to", -1)});
            },
            "collective"};
}

}  // namespace deadrank::inject
