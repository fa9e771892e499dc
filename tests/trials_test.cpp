// tests/trials_test.cpp — Goal: what was tried as written down stays readable: each scenario of a trial
// loads, and the table of first verdicts names each of them once. The verdicts are history and are not
// asserted.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <string>

#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "tests/support/catalog.h"

namespace deadrank {
namespace {

TEST(Trials, LoadAndStandInTheTableOnce) {
    const std::filesystem::path room = std::filesystem::path(DEADRANK_SOURCE_DIRECTORY) / "scenarios";
    const auto taxonomy = scenarios::load_taxonomy(room / "taxonomy.toml");
    ASSERT_TRUE(taxonomy) << taxonomy.error().text();
    const tests::ShippedCatalog catalog;
    std::ifstream file(room / "README.md");
    const std::string table((std::istreambuf_iterator<char>(file)), {});
    std::size_t tried = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(room / "trials")) {
        if (entry.path().extension() != ".toml") continue;
        ++tried;
        const auto scenario = scenarios::load(entry.path(), *taxonomy, catalog.vocabulary);
        EXPECT_TRUE(scenario) << scenario.error().text();
        const std::string row = "`" + entry.path().stem().string() + "`";
        const auto first = table.find(row);
        EXPECT_NE(first, std::string::npos) << row << " has no row in scenarios/README.md";
        EXPECT_EQ(table.find(row, first + 1), std::string::npos) << row << " has two rows";
    }
    EXPECT_GE(tried, 40u);
}

}  // namespace
}  // namespace deadrank
