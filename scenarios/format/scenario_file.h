// scenarios/format/scenario_file.h — Reads scenario files, one by one or all of a catalog.
#pragma once

#include <filesystem>
#include <string_view>
#include <vector>

#include "scenarios/model/scenario.h"

namespace deadrank::scenarios {

// Refuses unknown keys, ids and values with file, line and column. All errors are reported at once: the first
// is the Error, the others follow in its remedy, one per line.
Result<Scenario> load(const std::filesystem::path& file, const Taxonomy&, const Vocabulary&);

// The same from text; `file` gives the id and the places.
Result<Scenario> parse_scenario(std::string_view toml, const std::filesystem::path& file, const Taxonomy&,
                                const Vocabulary&);

// All errors of a file in order of place; empty when it loads.
std::vector<Error> problems_in(const std::filesystem::path& file, const Taxonomy&, const Vocabulary&);
// The same from text; `file` gives the id and the places.
std::vector<Error> problems_in(std::string_view toml, const std::filesystem::path& file, const Taxonomy&,
                               const Vocabulary&);

// All scenario files below a directory, in order of id. Files that do not load are errors in `broken` and do
// not stop the others.
struct Catalog {
    std::vector<Scenario> scenarios;
    std::vector<Error> broken;
};
Result<Catalog> load_catalog(const std::filesystem::path& directory, const Taxonomy&, const Vocabulary&);

}  // namespace deadrank::scenarios
