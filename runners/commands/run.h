// runners/commands/run.h — deadrank run: the command most people need.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_run(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
