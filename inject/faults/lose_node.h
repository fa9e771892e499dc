// inject/faults/lose_node.h — A whole node is gone at once: power, kernel panic, the operator. Not even its
// launcher can report it.
#pragma once

#include "inject/deed.h"
#include "inject/parameters.h"

namespace deadrank::inject {

inline FaultKind lose_node() {
    return {{.name = "lose_node",
             .what = "The node and everything on it is lost.",
             .parameters = {node_parameter()},
             .levers = {"change_host.down"}},
            [](const FaultSpec& spec) {
                const auto nodes = nodes_of(spec);
                return make_deed(spec, {.apply =
                                            [nodes](Levers& levers, Rank) {
                                                return for_each(nodes, [&](int node) {
                                                    return levers.change_host(node, {.down = true});
                                                });
                                            },
                                        .blame = aimed(spec, {.component = "node"})});
            }};
}

}  // namespace deadrank::inject
