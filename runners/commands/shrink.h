// runners/commands/shrink.h — deadrank shrink: from any failing plan to a minimal one that fails alike, as a
// scenario file.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_shrink(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
