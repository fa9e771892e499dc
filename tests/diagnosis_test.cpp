// tests/diagnosis_test.cpp — Goal: a diagnosis names causes from evidence alone, by rules that are data; it
// is right more often than the symptom alone would allow, and calls healthy what is healthy.
#include "results/diagnosis/diagnosis.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/diagnosis/clue.h"
#include "runners/score/score.h"
#include "scenarios/format/taxonomy_file.h"
#include "tests/support/catalog.h"

namespace deadrank {
namespace {

using results::diagnosis::diagnose;

struct Data {
    scenarios::Taxonomy taxonomy;
    scenarios::ClueTable clues;

    Data() {
        const std::string room = std::string(DEADRANK_SOURCE_DIRECTORY) + "/scenarios/";
        auto entries = scenarios::load_taxonomy(room + "taxonomy.toml");
        if (!entries) throw std::runtime_error(entries.error().text());
        taxonomy = std::move(*entries);
        auto table = scenarios::ClueTable::load(room + "clues.toml", taxonomy);
        if (!table) throw std::runtime_error(table.error().text());
        clues = std::move(*table);
    }
};

runners::DiagnosisScore score(const tests::ShippedCatalog& catalog, const Data& data) {
    return runners::score_diagnosis(catalog.scenarios, {{1}},
                                    [] { return std::make_unique<runners::SimRunner>(); }, catalog.vocabulary,
                                    data.taxonomy, data.clues, {});
}

// Goal: every clue that can be seen has a rule, and every rule is about a clue that can be seen.
TEST(Diagnosis, TheTableAndTheCluesNameTheSameThings) {
    std::vector<std::string> ruled, seen;
    for (const auto& rule : Data().clues.rules) ruled.push_back(rule.id);
    for (const std::string_view id : results::diagnosis::all_clues()) seen.emplace_back(id);
    EXPECT_THAT(ruled, ::testing::UnorderedElementsAreArray(seen));
}

// Goal: no rule knows a scenario: neither its id nor its words.
TEST(Diagnosis, NoRuleIsAboutOneScenario) {
    const Data data;
    for (const auto& scenario : tests::ShippedCatalog().scenarios) {
        const std::string name = scenario.id.substr(scenario.id.find('/') + 1);
        for (const auto& rule : data.clues.rules) {
            EXPECT_NE(rule.id, name);
            EXPECT_EQ(rule.what.find(name), std::string::npos) << rule.id;
        }
    }
}

TEST(Diagnosis, NothingFoundIsHealthy) {
    const Data data;
    EXPECT_TRUE(diagnose(results::Evidence(), {}, data.taxonomy, data.clues).healthy());
}

// Goal: a clue moves a cause past what the detector suggests; without it the detector's opinion stands.
TEST(Diagnosis, AVersionThatDiffersOutweighsTheDetectorsOpinion) {
    const Data data;
    const results::Finding finding{.symptom = "communication_setup_failure",
                                   .detector = "setup_failure",
                                   .blame = {},
                                   .at = results::Time{2},
                                   .says = "",
                                   .causes = {"rendezvous_store_or_endpoint_error"}};
    const auto evidence_with = [](std::string_view other_version) {
        results::Evidence evidence;
        evidence.record({results::Time{0}, results::no_rank, results::JobStart{2, 1, 2, {}}});
        for (const results::Rank rank : {0, 1}) {
            results::RankStart start;
            start.versions = evidence.text(rank == 0 ? "nccl=2.28.9" : other_version);
            evidence.record({results::Time{1}, rank, start});
        }
        evidence.finish(results::Time{3});
        return evidence;
    };
    const auto equal = diagnose(evidence_with("nccl=2.28.9"), {finding}, data.taxonomy, data.clues);
    EXPECT_EQ(equal.causes.front().cause, "rendezvous_store_or_endpoint_error");
    const auto skewed = diagnose(evidence_with("nccl=2.27.0"), {finding}, data.taxonomy, data.clues);
    EXPECT_EQ(skewed.causes.front().cause, "version_skew_across_ranks");
    EXPECT_THAT(skewed.causes.front().reasons.front().says, ::testing::HasSubstr("2.27.0"));
    EXPECT_EQ(skewed.fixes.front().fix, "version_and_dependency_management");
}

// Goal: measured, not believed. The bounds are below what was measured, so that a loss is noticed; and the
// clues earn their place: without them the diagnosis is worse.
TEST(Diagnosis, IsRightOverTheCatalogAndWorseWithoutItsClues) {
    const tests::ShippedCatalog catalog;
    Data data;
    const auto whole = score(catalog, data);
    EXPECT_EQ(whole.controls_healthy, whole.controls);
    EXPECT_GE(whole.controls, 60u);
    EXPECT_GE(whole.all.cause_first * 100, whole.all.trials * 65);
    EXPECT_GE(whole.all.cause_three * 100, whole.all.trials * 85);
    data.clues.rules.clear();
    EXPECT_LT(score(catalog, data).all.cause_first, whole.all.cause_first);
}

}  // namespace
}  // namespace deadrank
