// runners/commands/find/storm_goodput.h — deadrank storm goodput, a subcommand of storm.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_goodput(CLI::App& command, Session& session);

}  // namespace deadrank::runners::commands
