// runners/manual/meanings.h — What a word of a scenario file or of the environment means, for `deadrank
// explain`: tables, keys, settings, and the words of closed lists.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "runners/line/library.h"

namespace deadrank::runners::manual {

struct Meaning {
    std::string what;  // "key of [cluster]", "launcher", "setting", …
    std::string id;
    std::string says;
    std::vector<std::pair<std::string, std::string>> rows = {};  // label, text
};

// Every one; empty for a word that none of the tables has.
std::vector<Meaning> meanings_of(const Library& library, const std::string& word);
std::vector<std::string> words_with_meaning(const Library& library);

}  // namespace deadrank::runners::manual
