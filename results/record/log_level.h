// results/record/log_level.h — How grave a line is that a process printed.
#pragma once

#include <string>

namespace deadrank::results {

// 0 info, 1 warning, 2 error. `error`: the line came from stderr; what stdout prints is information.
int log_level(const std::string& line, bool error);

}  // namespace deadrank::results
