// runners/commands/taxonomy.h — deadrank taxonomy: the bug taxonomy as a tree or a matrix, saying openly
// where each entry comes from.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_taxonomy(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
