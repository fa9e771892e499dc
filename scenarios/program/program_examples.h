// scenarios/program/program_examples.h — Scenarios that write their rank's program, for the manual; a
// test plays them.
#pragma once

#include <array>
#include <string_view>

namespace deadrank::scenarios::program {

struct Example {
    std::string_view name;  // a file name without suffix
    std::string_view says;
    std::string_view toml;
};

const std::array<Example, 4>& examples();

// What [workload] of a skeleton says behind its kind.
std::string_view first_text();

}  // namespace deadrank::scenarios::program
