// runners/commands/serve.h — `deadrank serve`: a failure on live /metrics endpoints, for a rehearsal with
// real servers.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_serve(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
