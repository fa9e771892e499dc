// runners/commands/storm.h — deadrank storm: days of incidents from a published table, and what detection
// made of them.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_storm(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
