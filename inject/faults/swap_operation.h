// inject/faults/swap_operation.h — A rank calls another operation than its peers, or reduces by another rule:
// a sum where an average was meant.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind swap_operation() {
    return {{.name = "swap_operation",
             .what = "Another operation, or another reduction, is called instead.",
             .parameters = {rank_parameter(),
                            {"to",
                             ValueType::choice,
                             "",
                             "the operation called instead",
                             {"all_reduce", "broadcast", "reduce", "all_gather", "reduce_scatter",
                              "all_to_all", "gather", "scatter", "barrier"},
                             true},
                            {"reduce",
                             ValueType::choice,
                             "",
                             "the reduction used instead",
                             {"sum", "max", "min", "prod", "avg"},
                             true}},
             .levers = {AlterCall::operation}},
            [](const FaultSpec& spec) {
                return make_alteration(spec, {.op = results::op_named(spec.text("to")),
                                              .reduce = results::reduce_op_named(spec.text("reduce"))});
            },
            "collective"};
}

}  // namespace deadrank::inject
