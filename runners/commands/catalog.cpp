// runners/commands/catalog.cpp — The commands, one a line, in the order of `deadrank --help`.
#include "runners/commands/command.h"
#include "runners/commands/run.h"

namespace deadrank::runners::commands {

const std::vector<Command>& all_commands() {
    static const std::vector<Command> commands = {
        {"run", add_run},
    };
    return commands;
}

}  // namespace deadrank::runners::commands
