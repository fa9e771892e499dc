// runners/commands/sweep.h — deadrank sweep: every fault at every rank and step of one job, as a map of what
// is caught and what is not.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_sweep(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
