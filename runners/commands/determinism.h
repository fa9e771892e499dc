// runners/commands/determinism.h — deadrank determinism: one plan is one run, here and in another process.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_determinism(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
