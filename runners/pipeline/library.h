// runners/pipeline/library.h — What a command reads from disk: taxonomy, vocabulary, and the catalogue of
// scenarios, which can be scaled down to fewer ranks.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runners/extension/extension.h"
#include "scenarios/model/scenario.h"

namespace deadrank::runners {

struct Library {
    std::filesystem::path catalog;  // directory of <stage>/<bug>.toml
    std::filesystem::path data;     // directory of taxonomy.toml
    std::filesystem::path
        shipped;  // the same where it came with the program, and not with --catalog; else empty
    scenarios::Taxonomy taxonomy;
    scenarios::Vocabulary vocabulary;
    const Extension* extension = nullptr;  // never null once opened

    results::Detectors detectors() const { return extension->all_detectors(); }
};

// The catalog is `catalog` (--catalog), else DEADRANK_CATALOG, else found from the program: in
// ../share/deadrank, in its build tree's source, or in a directory `scenarios` above it.
scenarios::Result<Library> open_library(const std::filesystem::path& executable, const Extension& extension,
                                        const std::string& catalog);

// Ids of all scenario files below the catalog, sorted, without loading them.
scenarios::Result<std::vector<std::string>> scenario_ids(const Library& library);

scenarios::Result<scenarios::Scenario> load_scenario(const Library& library,
                                                     const std::filesystem::path& file);

// A scenario on fewer ranks than it was written for, for a machine too small for its cluster.
// The scenario on `ranks` ranks. Its cluster is kept if it has that many ranks on several nodes. Otherwise an
// even number of ranks is spread over two nodes, so that a fault aimed at one node leaves the other
// untouched. Groups larger than the job shrink to its size. If the scenario names a rank that no longer
// exists, resolving it is an error.
scenarios::Scenario scaled(scenarios::Scenario scenario, std::int64_t ranks);

}  // namespace deadrank::runners
