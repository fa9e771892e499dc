// runners/commands/emit.h — deadrank emit: a run's evidence as the files that other people's tools read.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_emit(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
