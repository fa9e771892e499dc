// runners/line/scale.h — A scenario on fewer ranks than it was written for: its bug, on a machine that has no
// room for its cluster.
#pragma once

#include "scenarios/model/scenario.h"

namespace deadrank::runners {

// The scenario on `ranks` ranks. Its cluster is kept where it has that many ranks on several nodes. Otherwise
// the ranks are spread over two nodes when their number is even, so that a fault aimed at one node leaves
// another one untouched. Groups larger than the job shrink to its size. A rank that the scenario names and
// that no longer exists is refused when the scenario is resolved.
scenarios::Scenario scaled(scenarios::Scenario scenario, std::int64_t ranks);

}  // namespace deadrank::runners
