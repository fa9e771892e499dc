// runners/manual/meanings.h — What a word of a scenario file or of the environment means, for `deadrank
// explain` and the manual: tables, keys, settings, environment variables, and the words of closed lists.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runners/pipeline/library.h"

namespace deadrank::runners::manual {

// What a word of a scenario file or of the environment means, for `deadrank explain`: tables, keys, settings,
// and the words of closed lists.

struct Meaning {
    std::string what;  // "key of [cluster]", "launcher", "setting", …
    std::string id;
    std::string says;
    std::vector<std::pair<std::string, std::string>> rows = {};  // label, text
};

// All meanings; empty for a word that is in none of the tables.
std::vector<Meaning> meanings_of(const Library& library, const std::string& word);
std::vector<std::string> words_with_meaning(const Library& library);

// Environment variables that have an effect, and on what they have it.

struct EnvironmentWord {
    // "a simulated job", "the program", "a real job": what it steers
    std::string_view reader, name, says;
};

// tests/runners/manual_test.cpp checks the list against the code that reads variables.
const std::vector<EnvironmentWord>& environment_words();

}  // namespace deadrank::runners::manual
