// results/record/signals.h — POSIX signals: their numbers on Linux, whatever machine this is, and their names
// as launchers print them and detectors repeat them.
#pragma once

#include <string_view>

namespace deadrank::results {

inline constexpr int sigabrt = 6, sigkill = 9, sigterm = 15, sigcont = 18, sigstop = 19;

std::string_view signal_name(int number);  // "SIGKILL"; "<N/A>" where Python's tables have none

}  // namespace deadrank::results
