// runners/pipeline/library.cpp — A build tree's source is found by its CMakeCache.txt, so no path is compiled
// in.
#include "runners/pipeline/library.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fstream>

#include "runners/extension/extension.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "scenarios/model/kind_ids.h"

namespace deadrank::runners {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;
namespace fs = std::filesystem;

namespace {

fs::path source_of_build(const fs::path& build) {
    constexpr std::string_view key = "CMAKE_HOME_DIRECTORY:INTERNAL=";
    std::ifstream cache(build / "CMakeCache.txt");
    for (std::string line; std::getline(cache, line);) {
        if (line.starts_with(key)) return fs::path(line.substr(key.size())) / "scenarios";
    }
    return {};
}

// The directory with taxonomy.toml and catalog/; empty when there is none.
fs::path find_data(const fs::path& executable) {
    const fs::path here = executable.parent_path();
    std::vector<fs::path> candidates = {here / "../share/deadrank"};
    for (fs::path above = here; above.has_relative_path(); above = above.parent_path()) {
        if (fs::path source = source_of_build(above); !source.empty()) candidates.push_back(source);
        candidates.push_back(above / "scenarios");
    }
    std::error_code ignored;
    for (const fs::path& candidate : candidates) {
        if (fs::exists(candidate / "taxonomy.toml", ignored)) return fs::weakly_canonical(candidate, ignored);
    }
    return {};
}

std::string stated_catalog(const std::string& option) {
    if (!option.empty()) return option;
    const char* variable = std::getenv("DEADRANK_CATALOG");
    return variable ? variable : "";
}

}  // namespace

Result<Library> open_library(const std::filesystem::path& executable, const Extension& extension,
                             const std::string& catalog) {
    Library library;
    library.data = extension.data.empty() ? find_data(executable) : extension.data;
    library.shipped = library.data;
    const std::string stated = stated_catalog(catalog);
    std::error_code trouble;
    if (!stated.empty()) {
        library.catalog = fs::weakly_canonical(stated, trouble);
        if (!fs::is_directory(library.catalog, trouble)) {
            return refuse(ErrorCode::usage,
                          fmt::format("the catalog '{}' is not a directory that can be read", stated),
                          "name a directory of scenarios with --catalog or DEADRANK_CATALOG");
        }
        const fs::path beside = library.catalog.parent_path();
        if (library.data.empty() && fs::exists(beside / "taxonomy.toml", trouble)) library.data = beside;
    } else {
        library.catalog = library.data / "catalog";
    }
    if (library.data.empty()) {
        return refuse(ErrorCode::environment, "the taxonomy and the catalog were not found near the program",
                      "name the catalog with --catalog or DEADRANK_CATALOG; taxonomy.toml lies beside it");
    }
    auto taxonomy = scenarios::load_taxonomy(library.data / "taxonomy.toml");
    if (!taxonomy) return tl::unexpected(taxonomy.error());
    library.taxonomy = std::move(*taxonomy);
    library.extension = &extension;
    library.vocabulary = runners::vocabulary(extension);
    return library;
}

Result<std::vector<std::string>> scenario_ids(const Library& library) {
    std::vector<std::string> ids;
    std::error_code trouble;
    for (fs::recursive_directory_iterator at(library.catalog, trouble), end; !trouble && at != end;
         at.increment(trouble)) {
        if (at->path().extension() != ".toml") continue;
        ids.push_back(at->path().lexically_relative(library.catalog).replace_extension().generic_string());
    }
    if (trouble) {
        return refuse(ErrorCode::io, fmt::format("cannot be read: {}", trouble.message()),
                      "name a directory of scenarios with --catalog or DEADRANK_CATALOG",
                      {library.catalog.string()});
    }
    std::sort(ids.begin(), ids.end());
    return ids;
}

Result<scenarios::Scenario> load_scenario(const Library& library, const fs::path& file) {
    return scenarios::load(file, library.taxonomy, library.vocabulary);
}

namespace {

void set(scenarios::Settings& settings, const std::string& name, std::int64_t value) {
    scenarios::Setting setting;
    setting.options = {{.type = scenarios::ValueType::integer, .number = value}};
    if (const auto old = settings.find(name); old != settings.end()) setting.place = old->second.place;
    settings[name] = setting;
}

// The setting's value if it is a single number, else 0.
std::int64_t stated(const scenarios::Settings& settings, const std::string& name) {
    const auto found = settings.find(name);
    return found != settings.end() && found->second.options.size() == 1 ? found->second.options.front().number
                                                                        : 0;
}

bool has_stated_nodes(const scenarios::Scenario& scenario, std::int64_t ranks) {
    const std::int64_t nodes = stated(scenario.cluster, "nodes");
    return nodes > 1 && nodes * stated(scenario.cluster, "gpus_per_node") == ranks &&
           scenario.cluster.count("ranks") == 0;
}

}  // namespace

scenarios::Scenario scaled(scenarios::Scenario scenario, std::int64_t ranks) {
    if (has_stated_nodes(scenario, ranks)) return scenario;
    const std::int64_t nodes = ranks % 2 == 0 ? 2 : 1;
    set(scenario.cluster, "nodes", nodes);
    set(scenario.cluster, "gpus_per_node", ranks / nodes);
    if (scenario.cluster.count("ranks") > 0) set(scenario.cluster, "ranks", ranks);
    for (const char* group : {"tp_size", "pp_size"}) {
        const auto stated = scenario.workload.find(group);
        if (stated == scenario.workload.end()) continue;
        const auto& options = stated->second.options;
        const bool fits =
            !options.empty() &&
            std::all_of(options.begin(), options.end(), [&](const auto& one) { return one.number <= ranks; });
        if (!fits) set(scenario.workload, group, ranks);
    }
    if (scenario.workload_kind == scenarios::WorkloadId::tensor_parallel &&
        scenario.workload.count("tp_size") == 0)
        set(scenario.workload, "tp_size", ranks);
    if (scenario.workload_kind == scenarios::WorkloadId::pipeline && scenario.workload.count("pp_size") == 0)
        set(scenario.workload, "pp_size", ranks);
    return scenario;
}

}  // namespace deadrank::runners
