// inject/faults/add_interface.h — A node has one more network interface than expected: a container bridge, a
// management network.
#pragma once

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind add_interface() {
    return {
        {.name = "add_interface",
         .what = "The node has a further network interface, which may be chosen wrongly.",
         .parameters = {node_parameter(),
                        {"name", ValueType::text, "veth0", "the interface"},
                        {"routable", ValueType::boolean, "false", "can peers be reached through it?"},
                        {"sorts_first", ValueType::boolean, "true", "is it listed before the right one?"}},
         .levers = {AddInterface::lever},
         .at_start = true},
        [](const FaultSpec& spec) {
            const std::string name = spec.text("name");
            const auto add = [nodes = nodes_of(spec), name, routable = spec.number("routable") != 0,
                              first = spec.number("sorts_first") != 0](Levers& levers, Rank) {
                return for_each(nodes, [&](int node) {
                    return levers.pull(AddInterface{node, name, routable, first});
                });
            };
            return make_deed(spec, {.apply = add, .blame = aimed(spec, {.component = name})});
        }};
}

}  // namespace deadrank::inject
