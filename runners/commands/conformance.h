// runners/commands/conformance.h — deadrank conformance: does somebody's detector keep to the protocol?
#pragma once

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

void add_conformance(CLI::App& app, Session& session);

}  // namespace deadrank::runners::commands
