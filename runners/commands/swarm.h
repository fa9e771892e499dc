// runners/commands/swarm.h — deadrank swarm: random plans against properties, findings grouped, coverage
// steering where to look next.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_swarm(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
