// runners/commands/complain.cpp — The one place where errors are printed, on standard error, in red on a
// terminal.
#include <cstdio>
#include <fmt/format.h>

#include "runners/commands/command.h"
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
    fmt::print(stderr, "{} {}\n", head, error.text());
    code = code_of(error);
}

}  // namespace deadrank::runners::commands
