// scenarios/format/resolve.h — Makes a plan of a scenario: every choice is drawn from the seed, every default
// written down.
#pragma once

#include "scenarios/model/plan.h"

namespace deadrank::scenarios {

// Errors: unsupported (lever, workload, size), bad_input (a rank outside the cluster, a step after the end,
// …).
Result<Trial> resolve(const Scenario& scenario, Seed seed, const Capabilities& capabilities,
                      const Vocabulary& vocabulary);

}  // namespace deadrank::scenarios
