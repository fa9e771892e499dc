// runners/commands/play/plan_program.h — What a program's text shows before it is played.
#pragma once

#include <string>
#include <vector>

#include "scenarios/model/plan.h"

namespace deadrank::runners::commands {

// Built-ins that a def of the same name hides and calls, as it believes, by a prefix: "def barrier():
// dist.barrier()" calls itself.
std::vector<std::string> hidden_builtins(const scenarios::Plan& plan);

}  // namespace deadrank::runners::commands
