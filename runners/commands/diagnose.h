// runners/commands/diagnose.h — deadrank diagnose: likely causes and fix patterns for evidence, with reasons;
// or how often that is right over the catalog.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_diagnose(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
