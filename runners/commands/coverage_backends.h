// runners/commands/coverage_backends.h — Why a scenario is not played on a backend: that backend is asked
// itself.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runners/line/library.h"

namespace deadrank::runners::commands {

// scenario id → backend → why not. Backends that can play the scenario, and say so in its file, are left out.
using BackendReasons = std::map<std::string, std::map<std::string, std::string>>;
BackendReasons why_not_played(const Library& library, const std::vector<scenarios::Scenario>& scenarios);

}  // namespace deadrank::runners::commands
