// runners/manual/environment_words.h — Environment variables that have an effect, and on what.
#pragma once

#include <string_view>
#include <vector>

namespace deadrank::runners::manual {

struct EnvironmentWord {
    // "a simulated job", "the program", "a real job": whom it steers
    std::string_view reader, name, says;
};

// tests/runners/manual_test.cpp holds the list to the code that reads variables.
const std::vector<EnvironmentWord>& environment_words();

}  // namespace deadrank::runners::manual
