// runners/commands/score.h — deadrank score: other people's tools, unmodified, judged over scenarios.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_score(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
