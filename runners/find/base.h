// runners/find/base.h — A healthy job to do things to, from a workload's name alone: everything as usual.
#pragma once

#include <string>

#include "scenarios/model/plan.h"

namespace deadrank::runners::find {

// Errors: usage, for a workload that there is not.
scenarios::Result<scenarios::Plan> usual_plan(const std::string& workload,
                                              const scenarios::Vocabulary& words);

// A bug of the taxonomy for what was seen: the symptom, and the cause and fix that are reported with it most
// often. `expect` gets the symptom and what of the culprit can be named.
void give_bug(scenarios::Plan& plan, const std::string& symptom, const std::vector<std::string>& blames,
              const scenarios::Taxonomy& taxonomy);

}  // namespace deadrank::runners::find
