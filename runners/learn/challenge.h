// runners/learn/challenge.h — What a lesson asks that can be checked: who it was, and why it happened.
#pragma once

#include "runners/learn/lesson.h"

namespace deadrank::runners::learn {

// Ranks or nodes are asked for where the scenario's alarm must name them, the root cause always. Wrong causes
// are drawn, by scenario and seed, from those that show the same symptom, then from the same stage.
std::vector<Challenge> challenges_for(const scenarios::Scenario& scenario,
                                      const scenarios::Taxonomy& taxonomy, const Trialled& trial);

}  // namespace deadrank::runners::learn
