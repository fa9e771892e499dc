// inject/faults/lose_node.h — A whole node is gone at once: power, kernel panic, the operator. Not even its
// launcher can report it.
#pragma once

#include "inject/faults/machines.h"

namespace deadrank::inject {

inline FaultKind lose_node() {
    return {{.name = "lose_node",
             .what = "The node and everything on it is lost.",
             .parameters = {node_parameter()},
             .levers = {ChangeHost::down}},
            [](const FaultSpec& spec) { return make_host_fault(spec, {.down = true}, {}, "node"); }};
}

}  // namespace deadrank::inject
