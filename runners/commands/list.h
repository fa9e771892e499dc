// runners/commands/list.h — deadrank list: the catalog, one line a scenario, with the same filters as run.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_list(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
