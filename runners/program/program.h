// runners/program/program.h — The command line as a whole: its commands in groups; finds the requested
// command, or suggests the nearest one.
#pragma once

#include <string_view>
#include <vector>

#include "runners/backend/extension.h"
#include "runners/commands/command.h"

namespace deadrank::runners {

// Commands with one purpose are listed together in `deadrank --help`.
struct CommandGroup {
    std::string_view title;
    std::vector<const commands::CommandRow*> rows;
};
const std::vector<CommandGroup>& command_groups();
const std::vector<const commands::CommandRow*>& all_commands();  // of all groups, in their order

// An extension adds words that every command knows.
int run_program(int argc, const char* const* argv, const Extension& extension = {});

}  // namespace deadrank::runners
