// results/record/signals.h — POSIX signals by name, as launchers print them and detectors repeat them.
#pragma once

#include <string_view>

namespace deadrank::results {

std::string_view signal_name(int number);  // "SIGKILL"; "<N/A>" where Python's tables have none

}  // namespace deadrank::results
