// Goal: what the manual says of a symptom is so: each row's example is played, tells that symptom, and names
// whom the row says.
#include "runners/manual/symptom_rows.h"

#include <algorithm>
#include <gtest/gtest.h>
#include <set>
#include <string>

#include "results/record/words.h"
#include "scenarios/model/python_program.h"
#include "tests/support/catalog.h"

namespace deadrank::tests {
namespace {

using runners::manual::SymptomExample;
using runners::manual::SymptomRow;

const runners::Library& shipped() {
    static const runners::Extension ours;
    static const runners::Library library =
        runners::open_library({}, ours, DEADRANK_SOURCE_DIRECTORY "/scenarios/catalog").value();
    return library;
}

std::string place_of(const SymptomRow& row) {
    return std::string(id_of(row.symptom)) + ": " +
           std::string(row.scenario.empty() ? row.program : row.scenario);
}

bool is_real(const ShippedCatalog& catalog, const SymptomRow& row) {
    return !row.program.empty() ||
           catalog.named(std::string(row.scenario)).workload_kind == scenarios::python_workload;
}

void expect_told(const SymptomRow& row) {
    const auto played = runners::manual::play_symptom_example(shipped(), row);
    ASSERT_TRUE(played) << place_of(row) << ": " << played.error().text();
    const results::Blame& blame = played->finding.blame;
    EXPECT_EQ(played->finding.symptom, id_of(row.symptom)) << place_of(row) << ": " << played->finding.says;
    if (row.names == "fault") {
        EXPECT_FALSE(blame.ranks.empty()) << place_of(row);
        EXPECT_EQ(blame.ranks, played->culprit.ranks) << place_of(row) << ": " << played->finding.says;
    } else if (row.names == "all") {
        EXPECT_EQ(blame.ranks, played->everybody) << place_of(row) << ": " << played->finding.says;
    } else if (row.names == "nobody") {
        EXPECT_TRUE(blame.ranks.empty()) << place_of(row) << ": " << played->finding.says;
    } else if (!row.program.empty() || !row.names.empty()) {
        EXPECT_EQ(results::blame_text(blame, {scenarios::BlameField::rank, scenarios::BlameField::step}),
                  row.names)
            << place_of(row) << ": " << played->finding.says;
    }
}

TEST(Told, EachExampleNamesWhomItsRowSays) {
    const ShippedCatalog catalog;
    for (const SymptomRow& row : runners::manual::symptom_rows())
        if (!is_real(catalog, row)) expect_told(row);
}

TEST(DeviceTold, EachProgramNamesWhomItsRowSays) {
    const ShippedCatalog catalog;
    if (const auto missing = runners::SimRunner().find_missing(catalog.real.front()); !missing.empty())
        GTEST_SKIP() << missing;
    for (const SymptomRow& row : runners::manual::symptom_rows())
        if (is_real(catalog, row)) expect_told(row);
}

TEST(Told, EverySymptomHasAScenarioThatExpectsIt) {
    const ShippedCatalog catalog;
    std::set<std::string> told;
    for (const SymptomRow& row : runners::manual::symptom_rows()) {
        EXPECT_NE(row.scenario.empty(), row.program.empty()) << place_of(row) << " has one example";
        if (row.scenario.empty()) continue;
        told.emplace(id_of(row.symptom));
        EXPECT_EQ(catalog.named(std::string(row.scenario)).expect.symptom, id_of(row.symptom))
            << row.scenario;
    }
    for (const auto& symptom : shipped().taxonomy.symptoms)
        EXPECT_TRUE(told.contains(symptom.id)) << symptom.id << " is in no row";
}

}  // namespace
}  // namespace deadrank::tests
