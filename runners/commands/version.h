// runners/commands/version.h — deadrank version: which build this is, and what it was built with.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_version(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
