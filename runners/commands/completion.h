// runners/commands/completion.h — deadrank completion: a script that lets a shell complete commands, options
// and scenario ids.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_completion(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
