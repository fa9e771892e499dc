// tests/support/catalog.cpp — Finds the catalog beside the sources; a file that does not load is told in
// full.
#include "tests/support/catalog.h"

#include <filesystem>

#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "scenarios/model/python_program.h"

namespace deadrank::tests {

ShippedCatalog::ShippedCatalog() {
    const std::filesystem::path room = std::filesystem::path(DEADRANK_SOURCE_DIRECTORY) / "scenarios";
    const auto taxonomy = scenarios::load_taxonomy(room / "taxonomy.toml");
    if (!taxonomy) throw std::runtime_error(taxonomy.error().text());
    auto catalog = scenarios::load_catalog(room / "catalog", *taxonomy, vocabulary);
    if (!catalog) throw std::runtime_error(catalog.error().text());
    std::string problems;
    for (const scenarios::Error& error : catalog->broken) problems += error.text() + "\n";
    if (!problems.empty()) throw std::runtime_error(problems);
    for (scenarios::Scenario& one : catalog->scenarios)
        (one.workload_kind == scenarios::python_workload ? real : scenarios).push_back(std::move(one));
}

std::vector<scenarios::Scenario> ShippedCatalog::all() const {
    std::vector<scenarios::Scenario> both = scenarios;
    both.insert(both.end(), real.begin(), real.end());
    return both;
}

const scenarios::Scenario& ShippedCatalog::named(const std::string& id) const {
    for (const auto* some : {&scenarios, &real})
        for (const auto& scenario : *some)
            if (scenario.id == id) return scenario;
    throw std::runtime_error("no scenario is called " + id);
}

}  // namespace deadrank::tests
