// runners/commands/parity.h — `deadrank parity`: how often the simulator says what real processes say.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_parity(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
