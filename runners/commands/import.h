// runners/commands/import.h — deadrank import: a real incident's dumps and logs become evidence.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_import(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
