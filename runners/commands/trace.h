// runners/commands/trace.h — `deadrank trace`: a run for ui.perfetto.dev.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_trace(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
