// runners/commands/new_scenario.h — deadrank new: writes a commented skeleton of a scenario.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_new(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
