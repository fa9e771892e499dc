// scenarios/program/program_parser.h — Words into a tree. What Python has and a rank's program does not
// (imports, generators, decorators) is refused with what would do.
#pragma once

#include <optional>

#include "scenarios/program/program_lexer.h"

namespace deadrank::scenarios::program {

// One text of a program, added to `program`. Stops at the first mistake.
void parse_part(std::string_view text, Part part, Program& program, std::vector<Mistake>& mistakes);

// A literal alone, [1, 2.5, "a"], as a setting of `let` may hold. Nothing where it is none.
std::optional<Expr> parse_literal(std::string_view text);

}  // namespace deadrank::scenarios::program
