// tests/scenarios/taxonomy_test.cpp — Goal: the shipped taxonomy has the counts in print, its ids refer to
// each other, and a broken file is refused.
#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <set>

#include "scenarios/format/taxonomy_file.h"
#include "scenarios/model/taxonomy_ids.h"
#include "tests/scenarios/sample.h"

namespace deadrank::tests {
namespace {

using scenarios::Taxonomy;

TEST(Taxonomy, HasTheCountsInPrint) {
    const Taxonomy& taxonomy = sample_taxonomy();
    EXPECT_EQ(taxonomy.stages.size(), 6u);
    EXPECT_EQ(taxonomy.symptoms.size(), 34u);
    EXPECT_EQ(taxonomy.causes.size(), 28u);
    EXPECT_EQ(taxonomy.fixes.size(), 6u);
    EXPECT_EQ(taxonomy.classes.size(), 5u);
    EXPECT_EQ(taxonomy.pairs.size(), 100u);
    EXPECT_FALSE(taxonomy.disclosure.empty());
}

// The types are made by hand; a row that the file has and they lack, or the other way round, shows here.
TEST(Taxonomy, HasTheIdsOfItsTypes) {
    const auto listed = [](const std::vector<scenarios::TaxonomyEntry>& entries) {
        std::vector<std::string> all = {""};
        for (const auto& entry : entries) all.push_back(entry.id);
        return all;
    };
    const Taxonomy& taxonomy = sample_taxonomy();
    EXPECT_EQ(std::vector<std::string>(std::begin(scenarios::symptom_ids), std::end(scenarios::symptom_ids)),
              listed(taxonomy.symptoms));
    EXPECT_EQ(std::vector<std::string>(std::begin(scenarios::cause_ids), std::end(scenarios::cause_ids)),
              listed(taxonomy.causes));
    EXPECT_EQ(scenarios::symptom_of("low_throughput_uniform"), scenarios::Symptom::low_throughput_uniform);
    EXPECT_EQ(scenarios::symptom_of("detector_crashed"), scenarios::Symptom::none);
}

TEST(Taxonomy, SaysOfEachEntryWhatItIsAndWhereItComesFrom) {
    const Taxonomy& taxonomy = sample_taxonomy();
    const std::set<std::string> sources = {"paper-named", "tosem", "incident-study", "reconstructed"};
    std::set<std::string> seen;
    for (const auto* entries : {&taxonomy.symptoms, &taxonomy.causes, &taxonomy.fixes}) {
        for (const auto& entry : *entries) {
            EXPECT_TRUE(seen.insert(entry.id).second) << entry.id << " is there twice";
            EXPECT_FALSE(entry.name.empty()) << entry.id;
            EXPECT_FALSE(entry.definition.empty()) << entry.id;
            EXPECT_FALSE(entry.sign.empty()) << entry.id;
            EXPECT_FALSE(entry.stages.empty()) << entry.id;
            EXPECT_EQ(sources.count(entry.provenance), 1u) << entry.id << ": " << entry.provenance;
        }
    }
}

TEST(Taxonomy, PairsEverySymptomAndEveryCause) {
    const Taxonomy& taxonomy = sample_taxonomy();
    std::set<std::string> symptoms, causes;
    for (const auto& pair : taxonomy.pairs) {
        symptoms.insert(pair.symptom);
        causes.insert(pair.cause);
        EXPECT_FALSE(pair.fixes.empty()) << pair.symptom << " by " << pair.cause;
        EXPECT_EQ(pair.reports, static_cast<std::int64_t>(pair.examples.size()));
    }
    EXPECT_EQ(symptoms.size(), taxonomy.symptoms.size());
    EXPECT_EQ(causes.size(), taxonomy.causes.size());
}

TEST(Taxonomy, KeepsIncidentTablesWithTheirWeights) {
    const Taxonomy& taxonomy = sample_taxonomy();
    ASSERT_EQ(taxonomy.incidents.size(), 5u);
    const auto& llama = taxonomy.incidents.front();
    EXPECT_EQ(llama.id, "llama_3");
    EXPECT_EQ(llama.days, 54);
    EXPECT_EQ(llama.devices, 16'384);
    EXPECT_EQ(llama.rows.size(), 18u);
    std::int64_t sum = 0;
    for (const auto& row : llama.rows) sum += row.weight;
    EXPECT_EQ(sum, llama.total);
    EXPECT_EQ(llama.rows.front().name, "Faulty GPU");
    EXPECT_EQ(llama.rows.front().count, 148);
    EXPECT_EQ(llama.rows.front().component, "gpu_compute");
    bool shares = false;  // where only a share is public, it is the weight, in parts per billion
    for (const auto& table : taxonomy.incidents) {
        for (const auto& row : table.rows) shares = shares || (row.count == 0 && row.weight == 214'000'000);
    }
    EXPECT_TRUE(shares);
}

TEST(Taxonomy, FindsById) {
    const Taxonomy& taxonomy = sample_taxonomy();
    ASSERT_NE(scenarios::find(taxonomy.symptoms, "device_out_of_memory"), nullptr);
    EXPECT_EQ(scenarios::find(taxonomy.symptoms, "device_out_of_memory")->id, "device_out_of_memory");
    EXPECT_EQ(scenarios::find(taxonomy.symptoms, "memory"), nullptr);
}

std::string refusal_of_taxonomy(std::string_view text) {
    const auto file = std::filesystem::path(testing::TempDir()) / "deadrank_taxonomy_test.toml";
    std::ofstream(file) << text;
    const auto taxonomy = scenarios::load_taxonomy(file);
    std::filesystem::remove(file);
    return taxonomy ? "loads" : taxonomy.error().text().substr(file.string().size());
}

TEST(Taxonomy, RefusesReferencesToNothing) {
    EXPECT_EQ(refusal_of_taxonomy("[[stage]]\nid = \"memory\"\nname = \"m\"\n[[symptom]]\nid = \"s\"\nname = "
                                  "\"s\"\nstages = [\"memry\"]\n"),
              ":1:1: s names the stage 'memry', which is not defined — did you mean 'memory'?");
    EXPECT_EQ(refusal_of_taxonomy("[[symptom]]\nname = \"s\"\n"),
              ":1:1: [[symptom]] lacks 'id' — add id = \"…\"");
    EXPECT_EQ(scenarios::load_taxonomy("no/such.toml").error().code, scenarios::ErrorCode::io);
}

}  // namespace
}  // namespace deadrank::tests
