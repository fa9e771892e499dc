// runners/commands/play/plan_notes.h — What a writer of a scenario would like to know before it is played.
#pragma once

#include "runners/backend/runner.h"
#include "scenarios/model/plan.h"
#include "scenarios/model/scenario.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners::commands {

// As comments behind the plan: the time of a step, what the expectation asks for, what the heal proves.
void print_notes(const scenarios::Scenario& scenario, const scenarios::Trial& trial,
                 const scenarios::Taxonomy& taxonomy, Runner& runner);

}  // namespace deadrank::runners::commands
