// runners/commands/campaign.h — `deadrank campaign`: scenarios × seeds over the cores of one machine or,
// under mpirun, of many.
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_campaign(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
