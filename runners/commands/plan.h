// runners/commands/plan.h — deadrank plan: a scenario with every draw made, as the TOML that one replays and
// attaches to a bug report.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_plan(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
