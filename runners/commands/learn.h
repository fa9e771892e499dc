// runners/commands/learn.h — `deadrank learn`: lessons about bugs, made from played runs.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_learn(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
