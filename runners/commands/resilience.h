// runners/commands/resilience.h — `deadrank resilience`: tables of how frameworks stood bugs, from lines that
// `run --json` printed.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_resilience(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
