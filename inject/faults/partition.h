// inject/faults/partition.h — The network falls into two halves that do not hear each other: a spine switch,
// a wrong route.
#pragma once

#include <algorithm>

#include "inject/core/deed.h"
#include "inject/core/parameters.h"

namespace deadrank::inject {

inline FaultKind partition() {
    return {{.name = "partition",
             .what = "These nodes and all others cannot reach each other.",
             .parameters = {node_parameter()},
             .levers = {ChangeLink::down}},
            [](const FaultSpec& spec) {
                const auto cut = [side = nodes_of(spec)](Levers& levers, bool down) -> Result<Done> {
                    for (int other = 0; other < node_count(levers); ++other) {
                        if (std::count(side.begin(), side.end(), other) > 0) continue;
                        auto done = for_each(side, [&](int node) {
                            return levers.pull(ChangeLink{{.from = node, .to = other, .down = down}});
                        });
                        if (!done) return done;
                    }
                    return Done{};
                };
                return make_deed(spec, {.apply = [cut](Levers& levers, Rank) { return cut(levers, true); },
                                        .revert = [cut](Levers& levers, Rank) { (void)cut(levers, false); },
                                        .blame = aimed(spec, {.component = "link"})});
            }};
}

}  // namespace deadrank::inject
