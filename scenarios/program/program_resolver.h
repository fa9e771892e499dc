// scenarios/program/program_resolver.h — The walk that turns names into places, and refuses those that are
// nowhere.
#pragma once

#include <string_view>
#include <vector>

#include "scenarios/program/program_lexer.h"

namespace deadrank::scenarios::program {

// The program's tables of names are full already; what is wrong is added to `mistakes`.
void resolve_names(Program& program, std::vector<Mistake>& mistakes);

int place_in(const std::vector<std::string>& names, std::string_view name);  // -1 = not there

}  // namespace deadrank::scenarios::program
