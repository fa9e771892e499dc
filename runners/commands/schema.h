// runners/commands/schema.h — deadrank schema: the schema of scenario files for editors.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_schema(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
