// runners/commands/replay.h — deadrank replay: plays a token or a plan again and compares the runs, event by
// event.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_replay(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
