// tests/storm_test.cpp — Goal: a storm is its table, by seed and within its budget; what is noticed of it is
// counted and not assumed.
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

#include "runners/storm/storm_study.h"
#include "scenarios/format/taxonomy_file.h"
#include "tests/support/catalog.h"

namespace deadrank {
namespace {

constexpr std::int64_t day = 86'400'000'000'000;

scenarios::Taxonomy taxonomy() {
    auto found =
        scenarios::load_taxonomy(std::string(DEADRANK_SOURCE_DIRECTORY) + "/scenarios/taxonomy.toml");
    if (!found) throw std::runtime_error(found.error().text());
    return std::move(*found);
}

scenarios::Storm shipped(const std::string& name) {
    auto storm = scenarios::load_storm(
        std::string(DEADRANK_SOURCE_DIRECTORY) + "/scenarios/storms/" + name + ".toml", taxonomy());
    if (!storm) throw std::runtime_error(storm.error().text());
    return std::move(*storm);
}

TEST(Storm, OneSeedIsOneStorm) {
    const auto storm = shipped("llama_3");
    const auto once = scenarios::draw_incidents(storm, 7), again = scenarios::draw_incidents(storm, 7);
    ASSERT_EQ(once.size(), again.size());
    for (std::size_t i = 0; i < once.size(); ++i) {
        EXPECT_EQ(once[i].at, again[i].at);
        EXPECT_EQ(once[i].row, again[i].row);
        EXPECT_EQ(once[i].seed, again[i].seed);
    }
    EXPECT_NE(once.front().at, scenarios::draw_incidents(storm, 8).front().at);
}

// Goal: at the table's own size the table's own number comes out, and its rows in their proportion.
TEST(Storm, StrikesAtTheTablesRateAndInItsProportions) {
    auto storm = shipped("llama_3");
    storm.nodes = 2048;  // 16,384 ranks
    storm.budget = 100'000;
    std::map<std::string, std::int64_t> rows;
    std::int64_t all = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        for (const auto& incident : scenarios::draw_incidents(storm, seed)) {
            ++rows[incident.row];
            ++all;
            EXPECT_LT(incident.at, storm.days * day);
            EXPECT_LT(incident.since_checkpoint, storm.checkpoint_every);
        }
    }
    EXPECT_NEAR(static_cast<double>(all) / 20, 419, 15);
    EXPECT_NEAR(static_cast<double>(rows["Faulty GPU"]) / static_cast<double>(all), 148.0 / 419, 0.02);
    EXPECT_EQ(rows.size(), 18u);
}

TEST(Storm, KeepsItsBudget) {
    auto storm = shipped("llama_3");
    storm.nodes = 2048;
    storm.budget = 5;
    EXPECT_EQ(scenarios::draw_incidents(storm, 1).size(), 5u);
}

// Goal: shares are chances: a row strikes in so many of a hundred jobs, and never twice in one.
TEST(Storm, StrikesRowsOfSharesOnceAtMost) {
    const auto storm = shipped("stragglers");
    std::map<std::string, int> jobs;
    for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
        for (const auto& incident : scenarios::draw_incidents(storm, seed)) ++jobs[incident.row];
    }
    EXPECT_NEAR(jobs["last pipeline stage"], 393, 50);
    EXPECT_NEAR(jobs["sequence-length imbalance"], 214, 50);
}

// Goal: what strikes is noticed on the storm's own cluster; what is not played is told and not counted as
// noticed.
TEST(Storm, CountsWhatWasNoticed) {
    auto storm = shipped("llama_3");
    storm.nodes = 4;
    storm.gpus_per_node = 2;
    storm.days = 4000;  // few ranks: incidents are rare
    storm.budget = 6;
    const tests::ShippedCatalog catalog;
    const auto make = [] { return std::make_unique<runners::SimRunner>(); };
    const auto card = runners::play_storm(storm, 1, catalog.scenarios, catalog.vocabulary, make, {});
    EXPECT_EQ(card.all.struck, 6u);
    EXPECT_GE(card.all.played, 5u);
    EXPECT_EQ(card.all.named, card.all.played);
    EXPECT_EQ(card.all.false_alarms, 0u);
    EXPECT_GE(card.all.lost.count(), static_cast<std::int64_t>(card.all.played) * storm.restart);
    const auto nothing = runners::play_storm(storm, 1, {}, catalog.vocabulary, make, {});
    EXPECT_EQ(nothing.all.played, 0u);
    EXPECT_EQ(nothing.all.detected, 0u);
    EXPECT_THAT(nothing.incidents.front().trouble, ::testing::HasSubstr("no scenario"));
}

// Goal: shapes fitted to real machines can be used by name, and draw another storm than a memoryless one.
TEST(Storm, TakesTheGapsOfAMachine) {
    const std::string file = std::string(DEADRANK_SOURCE_DIRECTORY) + "/scenarios/storms/gaps.toml";
    const auto shape = scenarios::load_gap_shape(file, "lanl_2");
    ASSERT_TRUE(shape) << shape.error().text();
    EXPECT_EQ(*shape, 0.75);
    auto storm = shipped("llama_3");
    const auto memoryless = scenarios::draw_incidents(storm, 1);
    storm.shape = *shape;
    EXPECT_NE(memoryless.front().at, scenarios::draw_incidents(storm, 1).front().at);
    const auto unknown = scenarios::load_gap_shape(file, "lanl_22");
    ASSERT_FALSE(unknown);
    EXPECT_THAT(unknown.error().text(), ::testing::HasSubstr("lanl_2"));
}

TEST(Storm, RefusesARowThatTheTableDoesNotHave) {
    const auto file = std::filesystem::path(testing::TempDir()) / "storm_with_a_wrong_row.toml";
    std::ofstream(file)
        << "format = 1\ntable = \"stragglers\"\n[storm]\nnodes = 2\n[[row]]\nname = \"single wroker\"\n";
    const auto storm = scenarios::load_storm(file, taxonomy());
    ASSERT_FALSE(storm);
    EXPECT_THAT(storm.error().text(), ::testing::HasSubstr("single worker"));
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace deadrank
