// runners/line/scale.h — A scenario on fewer ranks than it was written for: its bug, on a machine that has no
// room for its cluster.
#pragma once

#include "scenarios/model/scenario.h"

namespace deadrank::runners {

// As it is written, where it has so many ranks on several nodes. Else two nodes where the number is even, so
// that what is aimed at a node leaves another. Groups that the
// workload states larger than the job shrink to it. A rank that the scenario names and that is no longer
// there is refused when it is resolved.
scenarios::Scenario scaled(scenarios::Scenario scenario, std::int64_t ranks);

}  // namespace deadrank::runners
