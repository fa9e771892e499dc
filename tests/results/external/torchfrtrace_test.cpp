// Goal: what PyTorch's analyzer prints is understood; and the analyzer itself, unmodified, reads our dumps
// and names the culprit among 128 ranks, with the defects that are pinned for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/external/foreign_detectors.h"
#include "results/judging/known_limits.h"
#include "runners/backend/extension.h"
#include "runners/backends/sim/sim_runner.h"
#include "runners/score/score.h"
#include "scenarios/format/scenario_file.h"
#include "scenarios/format/taxonomy_file.h"
#include "scenarios/model/scenario.h"

namespace deadrank::tests {
namespace {

using results::Outcome;
using results::external::FlightRecorderProblem;
using results::external::read_flight_recorder_report;
using testing::ElementsAre;
using Kind = FlightRecorderProblem::Kind;

TEST(TorchfrtraceReport, NamesEveryCulpritOnceInOrder) {
    const auto problems = read_flight_recorder_report(
        "Collective sequence number: 11 has errors\ninternal record id: 10\ngroup info: 0:default_pg\n"
        "collective: nccl:all_reduce\ninput sizes: [[16]]\nworld size: 8\nexpected ranks: {0, 1, 2}\n"
        "error msg: Culprit rank 12; Error type: COLLECTIVE_TYPE_MISMATCH, Expected collective type: "
        "'all_reduce' does not match found collective type: 'broadcast', Culprit rank 3; Error type: "
        "COLLECTIVE_TYPE_MISMATCH, Expected …\ncollective stack trace: \n");
    ASSERT_EQ(problems.size(), 1u);
    EXPECT_EQ(problems[0].kind, Kind::mismatch);
    EXPECT_EQ(problems[0].seq, 11);
    EXPECT_EQ(problems[0].group, "0:default_pg");
    EXPECT_EQ(problems[0].collective, "nccl:all_reduce");
    EXPECT_THAT(problems[0].culprits, ElementsAre(3, 12));
}

TEST(TorchfrtraceReport, TellsAMissingRankFromAMismatch) {
    const auto problems = read_flight_recorder_report(
        "Not all ranks joining collective, sequence number: 3\ngroup info: 0:default_pg\n"
        "collective: nccl:all_reduce\nmissing ranks: {3, 5}\n"
        "Collective sequence number: 4 has errors\nerror msg: Culprit rank 1; Error type: "
        "COLLECTIVE_STATE_MISMATCH, Expected state: 'started' does not match found state: 'scheduled'\n"
        "Input/output mismatch in the collective sequence number: 5\ntotal input numel: 64\n"
        "We cannot decide what's wrong with this collective entry because we missed FR dumps from ranks "
        "({5}) so\n");
    ASSERT_EQ(problems.size(), 4u);
    EXPECT_EQ(problems[0].kind, Kind::missing);
    EXPECT_THAT(problems[0].culprits, ElementsAre(3, 5));
    EXPECT_EQ(problems[1].kind, Kind::state);
    EXPECT_THAT(problems[1].culprits, ElementsAre(1));
    EXPECT_EQ(problems[2].kind, Kind::totals);
    EXPECT_TRUE(problems[2].culprits.empty());
    EXPECT_EQ(problems[3].kind, Kind::undecided);
    EXPECT_TRUE(read_flight_recorder_report("No errors found for this collective entry\n").empty());
}

TEST(KnownLimits, AreThoseOfThatReleaseAndScenario) {
    EXPECT_NE(results::known_limit("torchfrtrace", "2.11.0+cu130", "a/all_hung_in_one_operation"), nullptr);
    EXPECT_EQ(results::known_limit("torchfrtrace", "2.7.1", "a/all_hung_in_one_operation"), nullptr);
    EXPECT_EQ(results::known_limit("another", "2.11.0", "a/all_hung_in_one_operation"), nullptr);
    EXPECT_TRUE(results::older("2.9.1", "2.11"));
    EXPECT_FALSE(results::older("2.11.0", "2.11"));
}

// One of our scenarios for tools, seed 1, heard by torchfrtrace alone.
runners::ToolCase judged_by_torchfrtrace(const std::string& name) {
    const auto vocabulary = runners::vocabulary();
    const std::filesystem::path root = DEADRANK_SOURCE_DIRECTORY;
    const auto taxonomy = scenarios::load_taxonomy(root / "scenarios/taxonomy.toml");
    EXPECT_TRUE(taxonomy);
    const auto scenario =
        scenarios::load(root / "results/external/scenarios" / (name + ".toml"), *taxonomy, vocabulary);
    EXPECT_TRUE(scenario) << (scenario ? "" : scenario.error().text());
    std::vector<runners::Tool> tools;
    results::external::Bounds patient;  // a busy machine is no crash of the tool
    patient.time = std::chrono::minutes(5);
    tools.push_back(*runners::find_tool("torchfrtrace", patient));
    auto cases = runners::score_tools(tools, {{&*scenario, scenarios::Seed{1}}},
                                      [] { return std::make_unique<runners::SimRunner>(); }, vocabulary, {});
    return std::move(cases.at(0).at(0));
}

class DeviceTorchfrtrace : public testing::Test {
protected:
    void SetUp() override {
        const auto tool = runners::find_tool("torchfrtrace", {});
        if (!tool->missing.empty()) GTEST_SKIP() << tool->missing;
    }
};

TEST_F(DeviceTorchfrtrace, NamesTheCulpritAmong128Ranks) {
    const auto one = judged_by_torchfrtrace("wrong_operation_at_128_ranks");
    EXPECT_EQ(one.outcome.fault->outcome, Outcome::caught) << one.outcome.fault->reason;
    EXPECT_EQ(one.outcome.control->outcome, Outcome::quiet) << one.outcome.control->reason;
}

TEST_F(DeviceTorchfrtrace, FindsAnotherSizeAndAnotherType) {
    for (const char* name : {"wrong_size_on_one_rank", "wrong_dtype_on_one_rank"}) {
        const auto one = judged_by_torchfrtrace(name);
        EXPECT_EQ(one.outcome.fault->outcome, Outcome::caught) << name << ": " << one.outcome.fault->reason;
    }
}

TEST_F(DeviceTorchfrtrace, StillHasTheDefectsThatArePinned) {
    for (const results::KnownLimit& limit : results::known_limits()) {
        if (limit.tool != "torchfrtrace") continue;
        const auto one = judged_by_torchfrtrace(std::string(limit.scenario));
        if (!one.pinned) continue;  // another release
        EXPECT_EQ(one.outcome.fault->outcome, limit.outcome)
            << limit.scenario << ": " << one.outcome.fault->reason;
    }
}

}  // namespace
}  // namespace deadrank::tests
