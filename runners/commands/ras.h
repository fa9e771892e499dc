// runners/commands/ras.h — deadrank ras: NCCL's RAS protocol from both ends.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_ras(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
