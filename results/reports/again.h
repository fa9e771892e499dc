// results/reports/again.h — How to see a case again: the commands that every report begins with.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "results/judging/case.h"

namespace deadrank::results::reports {

// The `runner` of a case that was judged from files, not played.
inline constexpr std::string_view from_files = "files";

// "deadrank replay TOKEN" where there is a token, and the run that makes the same draws from the catalog.
std::vector<std::string> commands_to_see_again(const Case& one);

}  // namespace deadrank::results::reports
