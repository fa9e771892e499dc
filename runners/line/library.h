// runners/line/library.h — What a command reads from disk: taxonomy, vocabulary, and the catalogue of
// scenarios, also on fewer ranks than they were written for.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "runners/runner/extension.h"
#include "scenarios/model/scenario.h"

namespace deadrank::runners {

struct Library {
    std::filesystem::path catalog;  // directory of <stage>/<bug>.toml
    std::filesystem::path data;     // directory of taxonomy.toml
    scenarios::Taxonomy taxonomy;
    scenarios::Vocabulary vocabulary;
    const Extension* extension = nullptr;  // never null once opened

    results::Detectors detectors() const { return extension->all_detectors(); }
};

// The catalog is taken from `catalog` (--catalog), else DEADRANK_CATALOG, else it lies beside the program: in
// its build tree's source, in ../share/deadrank, or in the directory `scenarios` above it.
scenarios::Result<Library> open_library(const std::filesystem::path& executable, const Extension& extension,
                                        const std::string& catalog);

// Ids of all scenario files below the catalog, in order, without loading them.
scenarios::Result<std::vector<std::string>> scenario_ids(const Library& library);

scenarios::Result<scenarios::Scenario> load_scenario(const Library& library,
                                                     const std::filesystem::path& file);

// A scenario on fewer ranks than it was written for: its bug, on a machine that has no room for its cluster.

// The scenario on `ranks` ranks. Its cluster is kept where it has that many ranks on several nodes. Otherwise
// the ranks are spread over two nodes when their number is even, so that a fault aimed at one node leaves
// another one untouched. Groups larger than the job shrink to its size. A rank that the scenario names and
// that no longer exists is refused when the scenario is resolved.
scenarios::Scenario scaled(scenarios::Scenario scenario, std::int64_t ranks);

}  // namespace deadrank::runners
