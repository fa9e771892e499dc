// runners/commands/one_plan.h — What a command is given to work on: a plan's file, or a scenario under a
// seed.
#pragma once

#include <cstdint>
#include <string>

#include "runners/line/library.h"
#include "scenarios/model/plan.h"

namespace deadrank::runners::commands {

// A file with a [plan] is a plan, whatever its name; everything else is a scenario's id or file. Errors:
// those of loading and resolving; usage when several scenarios are meant.
scenarios::Result<scenarios::Plan> one_plan(const Library& library, const std::string& what,
                                            std::uint64_t seed);

}  // namespace deadrank::runners::commands
