// runners/commands/program.h — The command line as a whole: finds the command, or says which one was probably
// meant.
#pragma once

#include "runners/runner/extension.h"

namespace deadrank::runners::commands {

// With an extension the program is deadrank with more words; every command knows them.
int run_program(int argc, const char* const* argv, const Extension& extension = {});

}  // namespace deadrank::runners::commands
