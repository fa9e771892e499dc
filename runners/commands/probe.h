// runners/commands/probe.h — deadrank probe: from which magnitude on a detector, a tool or an alert rule
// notices a fault, how fast, and how often it cries without one.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_probe(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
