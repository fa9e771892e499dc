// runners/commands/program.h — The command line as a whole: finds the command, or says which one was probably
// meant.
#pragma once

namespace deadrank::runners::commands {

int run_program(int argc, const char* const* argv);

}  // namespace deadrank::runners::commands
