// runners/commands/explain.h — deadrank explain: what a scenario, a fault kind, a workload, a detector or an
// id of the taxonomy means.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_explain(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
