// runners/program/main.cpp — The program's entry point. The commands are in runners/commands.
#include <exception>
#include <fmt/format.h>

#include "runners/commands/command.h"
#include "runners/program/program.h"
#include "scenarios/model/error.h"

int main(int argc, char** argv) {
    try {
        return deadrank::runners::run_program(argc, argv);
    } catch (const std::exception& error) {
        if (deadrank::scenarios::is_host_failure(error))
            fmt::print(stderr, "deadrank: {}\n", deadrank::scenarios::host_error(error).text());
        else
            fmt::print(stderr, "deadrank: internal error: {} — please report it with the command\n",
                       error.what());
        return deadrank::runners::commands::exit_unknown;
    }
}
