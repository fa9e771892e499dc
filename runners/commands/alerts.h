// runners/commands/alerts.h — `deadrank alerts`: which failures an operator's own alert rules catch, how
// fast, and where.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_alerts(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
