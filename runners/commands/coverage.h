// runners/commands/coverage.h — deadrank coverage: which cells of symptom × cause × stage × fix × backend
// have a scenario, and which have not.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_coverage(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
