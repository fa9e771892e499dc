// runners/program/program.h — The command line as a whole: its commands in groups; finds the requested
// command, or suggests the nearest one.
#pragma once

#include <string_view>
#include <vector>

#include "runners/commands/command.h"
#include "runners/extension/extension.h"

namespace deadrank::runners {

// A command, and the verbs that may come directly behind its name: `deadrank sweep swarm`.
struct Command {
    const commands::CommandRow* row;
    std::vector<const commands::CommandRow*> verbs = {};
};

// Commands for one kind of user are listed together in `deadrank --help`.
struct CommandGroup {
    std::string_view title;
    std::vector<Command> commands;
};
const std::vector<CommandGroup>& command_groups();
std::vector<Command> all_commands();  // of all groups, in their order

// An extension adds words that every command knows.
int run_program(int argc, const char* const* argv, const Extension& extension = {});

}  // namespace deadrank::runners
