// scenarios/program/program_names.h — Every name of a program is looked up before it runs: variables become
// places in tables, arguments are put in order, and what a fault may act on is collected.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "scenarios/program/program_parser.h"

namespace deadrank::scenarios::program {

// The texts of a program as its settings say, and the names in `let`.
struct Source {
    std::string setup, step, finish, earlier;
    std::vector<std::string> lets;
};

// All that is wrong with it is added to `mistakes`; the program is fit to run if nothing was.
Program read_program(const Source& source, std::vector<Mistake>& mistakes);

// Names of `let` that the program never reads.
std::vector<std::string> unread_lets(const Program& program, const Source& source);

}  // namespace deadrank::scenarios::program
