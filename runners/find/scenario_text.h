// runners/find/scenario_text.h — A plan as a scenario that one can commit: only what is not usual is written
// down.
#pragma once

#include <string>

#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

// `story` becomes the opening comment, wrapped. Loaded and resolved under the plan's seed it gives the same
// cluster, workload and faults.
std::string scenario_text(const scenarios::Plan& plan, const scenarios::Vocabulary& words,
                          const std::string& story);

}  // namespace deadrank::runners::find
