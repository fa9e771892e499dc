// inject/faults/take_port.h — Somebody else listens where the job wants to meet: another job, or the orphan
// of the last one.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind take_port() {
    return {{.name = "take_port",
             .what = "A port of the node is taken before the job comes.",
             .parameters = {node_parameter(),
                            {"port", ValueType::text, "29500", "the number of the port"},
                            {"mute", ValueType::boolean, "false",
                             "accepts connections and never answers, so that nobody is told"}},
             .levers = {TakePort::lever},
             .at_start = true},
            [](const FaultSpec& spec) {
                const auto take = [nodes = nodes_of(spec), port = spec.text("port"),
                                   mute = spec.number("mute") != 0](Levers& levers, Rank) {
                    return for_each(nodes, [&](int node) { return levers.pull(TakePort{node, port, mute}); });
                };
                return make_deed(spec, {.apply = take, .blame = aimed(spec, {.variable = "MASTER_PORT"})});
            }};
}

}  // namespace deadrank::inject
