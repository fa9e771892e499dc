// results/record/signals.cpp — The signals that end training jobs; numbers are Linux's.
#include "results/record/signals.h"

#include <array>
#include <utility>

namespace deadrank::results {

namespace {

constexpr std::array<std::pair<int, std::string_view>, 9> names = {{
    {1, "SIGHUP"},
    {2, "SIGINT"},
    {4, "SIGILL"},
    {6, "SIGABRT"},
    {7, "SIGBUS"},
    {8, "SIGFPE"},
    {9, "SIGKILL"},
    {11, "SIGSEGV"},
    {15, "SIGTERM"},
}};

}  // namespace

std::string_view signal_name(int number) {
    for (const auto& [known, name] : names) {
        if (known == number) return name;
    }
    return "<N/A>";
}

}  // namespace deadrank::results
