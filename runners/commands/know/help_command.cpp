// runners/commands/know/help_command.cpp — deadrank help: `help sweep` is `sweep --help`, which the program
// rewrites before it parses. The verbs print what a distribution, a shell and a bug report need.
#include <CLI/CLI.hpp>

#include "runners/commands/command.h"

namespace deadrank::runners::commands {

namespace {

void add_help(CLI::App& command, Session&) {
    command.footer(
        "Examples:\n"
        "  deadrank help sweep                 the same as deadrank sweep --help\n"
        "  deadrank help sweep swarm           one verb of it\n"
        "  deadrank help manual > MANUAL.md    everything");
}

}  // namespace

extern const CommandRow help_row{"help", "Prints the help of a command", add_help};

}  // namespace deadrank::runners::commands
