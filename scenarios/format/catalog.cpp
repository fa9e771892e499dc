// scenarios/format/catalog.cpp — Every scenario below a directory, in order of id; a broken file does not
// hide the others.
#include <algorithm>
#include <fmt/format.h>

#include "scenarios/model/scenario.h"
#include "scenarios/format/scenario_file.h"

namespace deadrank::scenarios {

Result<Catalog> load_catalog(const std::filesystem::path& directory, const Taxonomy& taxonomy,
                             const Vocabulary& vocabulary) {
    std::error_code trouble;
    std::vector<std::filesystem::path> files;
    for (std::filesystem::recursive_directory_iterator at(directory, trouble), end; !trouble && at != end;
         at.increment(trouble)) {
        if (at->path().extension() == ".toml") files.push_back(at->path());
    }
    if (trouble) {
        return refuse(ErrorCode::io, fmt::format("cannot be listed: {}", trouble.message()),
                      "name a directory that exists and that you may read", {directory.string()});
    }
    std::sort(files.begin(), files.end());
    Catalog catalog;
    for (const auto& file : files) {
        auto scenario = load(file, taxonomy, vocabulary);
        if (scenario) {
            catalog.scenarios.push_back(std::move(*scenario));
        } else {
            for (Error& error : problems_in(file, taxonomy, vocabulary))
                catalog.broken.push_back(std::move(error));
        }
    }
    std::sort(catalog.scenarios.begin(), catalog.scenarios.end(),
              [](const Scenario& a, const Scenario& b) { return a.id < b.id; });
    return catalog;
}

}  // namespace deadrank::scenarios
