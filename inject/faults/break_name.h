// inject/faults/break_name.h — The published address is of no use to some: a name their resolver does not
// know, a network out of reach.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind break_name() {
    return {{.name = "break_name",
             .what = "A host name does not lead to its host for these ranks.",
             .parameters = {rank_parameter(),
                            {"host", ValueType::text, "node0", "the name"},
                            {"how",
                             ValueType::choice,
                             "unresolvable",
                             "unknown to the resolver, or known and out of reach",
                             {"unresolvable", "unroutable"}}},
             .levers = {BreakName::lever},
             .at_start = true},
            [](const FaultSpec& spec) {
                const std::string host = spec.text("host");
                const NameTrouble how = results::name_trouble_named(spec.text("how"));
                return make_deed(spec, {.apply =
                                            [host, how](Levers& levers, Rank rank) {
                                                return levers.pull(BreakName{rank, host, how});
                                            },
                                        .blame = aimed(spec, {.variable = "MASTER_ADDR"})});
            }};
}

}  // namespace deadrank::inject
