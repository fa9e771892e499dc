// runners/commands/command.cpp — A command of the program is a row: its name, one sentence, and a function
// that adds its options to the parser and, when called, leaves its exit code in the session. Exit codes: 0
// pass, 1 fail, 2 unknown, 64 usage, 130 interrupted.
#include "runners/commands/command.h"

#include <cstdio>
#include <fmt/format.h>

#include "runners/commands/screen.h"

namespace deadrank::runners::commands {

int code_of(const scenarios::Error& error) {
    switch (error.code) {
        case scenarios::ErrorCode::usage:
        case scenarios::ErrorCode::bad_input:
        case scenarios::ErrorCode::io:
            return exit_usage;
        default:
            return exit_unknown;
    }
}

void Session::complain(const scenarios::Error& error) {
    const auto style = style_of(stderr);
    const std::string head = style.paint(results::reports::Ink::red, "deadrank:");
    print_error("{} {}\n", head, error.text());
    code = code_of(error);
}

}  // namespace deadrank::runners::commands
