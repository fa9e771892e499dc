// runners/commands/learn_list.h — The course as a list, with what was solved of it.
#pragma once

#include <vector>

#include "runners/learn/dialogue.h"
#include "scenarios/model/scenario.h"

namespace deadrank::runners::commands {

void list_text(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress);
void list_json(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress);
void say_solved(const std::vector<scenarios::Scenario>& course, const learn::Progress& progress);

}  // namespace deadrank::runners::commands
