// results/preflight/knowledge.h — The data behind the rules, with its sources: compatibility.toml,
// variables.toml.
#pragma once

#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::results::preflight {

// From version `from` on, `package` needs `needs` of at least `least`.
struct Need {
    std::string package, from, needs, least, source;
};

// Processes whose versions are on different sides of `at` are incompatible; `shows` says how that is seen.
struct Border {
    std::string package, at, shows, source;
};

struct Knowledge {
    std::vector<Need> needs;
    std::vector<Border> borders;
    std::set<std::string, std::less<>> names;     // variables that some program reads
    std::set<std::string, std::less<>> integers;  // those that are read as a whole number, unchecked
    std::map<std::string, std::vector<std::string>, std::less<>> words;  // what a variable may hold

    // The known name that an unknown one probably misspells, with at most two wrong letters. Empty when there
    // is none, or when the name is known.
    std::string classify_complaint(std::string_view name) const;
};

// Errors: io; bad_input with the line.
scenarios::Result<Knowledge> load_knowledge(const std::filesystem::path& directory);

// By the numbers between dots that both state: 580.65 is not older than 580.65.06. "+cu128", "rc1" and the
// like are left out. Negative, zero or positive.
int compare_versions(std::string_view a, std::string_view b);

}  // namespace deadrank::results::preflight
