// tests/runners/parity/parity_test.cpp — Goal: two backends agree when they name the same symptoms and ranks;
// another answer counts as explained only where the scenario says why, and one that was not played counts as
// nothing.
#include "runners/parity/parity.h"

#include <gtest/gtest.h>

#include "runners/extension/extension.h"
#include "tests/support/fake_runner.h"

namespace deadrank::runners {
namespace {

using testing_runner::FakeRunner;

FakeRunner plays(Record (*record)(), bool happens = true) {
    return FakeRunner([=](const scenarios::Plan&) -> scenarios::Result<Record> {
        Record played = record();
        if (happens) played.truth.marks.push_back({.kind = results::MarkKind::applied, .fault = 0});
        return played;
    });
}

TEST(Parity, IsOfSymptomsAndRanks) {
    const scenarios::Vocabulary vocabulary = runners::vocabulary();
    scenarios::Scenario scenario = testing_runner::killed_rank_scenario();
    FakeRunner hung = plays(testing_runner::hung_record, false),
               other = plays(testing_runner::hung_record, false),
               quiet = plays(testing_runner::finished_record),
               never = plays(testing_runner::finished_record, false);
    const auto found = [&](Runner& reality) { return compare(scenario, {1}, hung, reality, 64, vocabulary); };
    EXPECT_EQ(found(other).parity, Parity::agree);
    EXPECT_FALSE(found(other).real.empty());
    EXPECT_EQ(found(quiet).parity, Parity::differ);
    EXPECT_EQ(listed(found(quiet).real), "nothing");
    EXPECT_EQ(found(never).parity, Parity::not_played);
    scenario.parity["fake"] = "that library tells its peers";
    scenario.expect.blames = {};  // the evidence does not say who they are
    EXPECT_EQ(found(quiet).parity, Parity::explained);
    EXPECT_EQ(found(quiet).why, "that library tells its peers");
    EXPECT_TRUE(found(other).stale()) << play(scenario, {1}, hung, vocabulary).outcome.reason;
    scenario.expect.symptom = "collective_timeout_abort";
    EXPECT_FALSE(found(other).stale()) << "the reason is why both find something else";
    EXPECT_FALSE(found(quiet).stale());
}

TEST(Parity, CountsNothingWhoseFaultWasRefusedHalfWay) {
    const scenarios::Vocabulary vocabulary = runners::vocabulary();
    FakeRunner hung = plays(testing_runner::hung_record), refused([](const scenarios::Plan&) {
        Record record = testing_runner::hung_record();
        record.truth.marks.push_back(
            {.kind = results::MarkKind::refused, .fault = 0, .says = "no such value"});
        return scenarios::Result<Record>(std::move(record));
    });
    const Compared one = compare(testing_runner::killed_rank_scenario(), {1}, hung, refused, 64, vocabulary);
    EXPECT_EQ(one.parity, Parity::not_played);
    EXPECT_NE(one.why.find("no such value"), std::string::npos) << one.why;
}

// Ranks 1 and 2 look for a file of a checkpoint that is not there; rank 2 may be ended before it says so.
Record missed_file(bool second_one_speaks, int signal) {
    using std::chrono::seconds;
    Record record;
    results::Evidence& evidence = record.evidence;
    evidence.record({seconds(0), results::no_rank, results::JobStart{4, 1, 4, evidence.text("train.py")}});
    for (results::Rank rank = 0; rank < 4; ++rank)
        evidence.record({seconds(1), rank, results::RankStart{1000 + rank, 0, rank}});
    const results::CheckpointLoad load{
        .step = 5, .shards = 4, .path = evidence.text("step5/x"), .result = results::Code::not_found};
    evidence.record({seconds(2), 1, load});
    if (second_one_speaks) evidence.record({seconds(2), 2, load});
    evidence.record({seconds(3), 1, results::RankExit{1, 0}});
    evidence.record({seconds(4), 2, results::RankExit{0, signal}});
    evidence.record({seconds(5), results::no_rank, results::JobStop{1, evidence.text("a rank failed")}});
    evidence.finish(seconds(5));
    record.truth.marks.push_back({.at = seconds(1), .kind = results::MarkKind::applied, .fault = 0});
    return record;
}

TEST(Parity, ExcusesARankThatTheLauncherEndedBeforeItSpoke) {
    const scenarios::Vocabulary vocabulary = runners::vocabulary();
    const scenarios::Scenario scenario = testing_runner::killed_rank_scenario();
    FakeRunner both = plays([] { return missed_file(true, 0); }),
               ended = plays([] { return missed_file(false, 15); }),
               silent = plays([] { return missed_file(false, 0); });
    Compared one = compare(scenario, {1}, both, ended, 64, vocabulary);
    EXPECT_EQ(one.parity, Parity::explained) << listed(one.simulated) << " | " << listed(one.real);
    EXPECT_EQ(one.why, "the launcher ended rank 2 before it could say the same");
    simulate_again(one, scenario, both, ended, 64, vocabulary);
    EXPECT_EQ(one.parity, Parity::explained);
    simulate_again(one, scenario, silent, ended, 64, vocabulary);
    EXPECT_EQ(one.parity, Parity::agree);
    EXPECT_EQ(compare(scenario, {1}, both, silent, 64, vocabulary).parity, Parity::differ);
    EXPECT_EQ(compare(scenario, {1}, ended, both, 64, vocabulary).parity, Parity::differ);
}

TEST(Parity, AsksOnPaperBeforeAnythingIsPlayed) {
    class Unable final : public Runner {
    public:
        std::string_view name() const override { return "unable"; }
        scenarios::Capabilities capabilities() const override {
            return {.levers = {"*"}, .workloads = {"*"}};
        }
        scenarios::Result<void> check_plan(const scenarios::Plan&) override {
            return scenarios::refuse(scenarios::ErrorCode::unsupported, "it has no setting 'depth'");
        }
        scenarios::Result<Record> play(const scenarios::Plan&, const RunOptions&) override {
            ADD_FAILURE() << "it was played";
            return testing_runner::hung_record();
        }
    };
    FakeRunner hung = plays(testing_runner::hung_record);
    Unable unable;
    const Compared one =
        compare(testing_runner::killed_rank_scenario(), {1}, hung, unable, 64, runners::vocabulary());
    EXPECT_EQ(one.parity, Parity::not_played);
    EXPECT_EQ(one.why, "it has no setting 'depth'");
}

TEST(Parity, CountsAlikeReasonsTogether) {
    EXPECT_EQ(kind_of_reason("it has no setting 'depth'"), "it has no setting …");
    EXPECT_EQ(kind_of_reason("12 ranks are more than the 8 of local"),
              "… ranks are more than the … of local");
    EXPECT_EQ(kind_of_reason("it has no setting 'a1'"), kind_of_reason("it has no setting 'b'"));
}

// Goal: what was played for real is kept, and what the simulator says of it is asked anew, under its seed.
TEST(Parity, AsksTheSimulatorAgainWhereItMayHaveLearnt) {
    const scenarios::Vocabulary vocabulary = runners::vocabulary();
    const scenarios::Scenario scenario = testing_runner::killed_rank_scenario();
    FakeRunner hung = plays(testing_runner::hung_record), quiet = plays(testing_runner::finished_record);
    Compared one = compare(scenario, {5}, hung, hung, 64, vocabulary);
    EXPECT_EQ(one.seed, 5u);
    EXPECT_EQ(one.parity, Parity::agree);
    EXPECT_FALSE(one.on_nothing());
    simulate_again(one, scenario, quiet, hung, 64, vocabulary);
    EXPECT_EQ(one.parity, Parity::differ);
    EXPECT_TRUE(one.simulated.empty());
    EXPECT_FALSE(one.as_expected);
    simulate_again(one, scenario, hung, hung, 64, vocabulary);
    EXPECT_EQ(one.parity, Parity::agree);
    EXPECT_EQ(one.seed, 5u);
}

TEST(ParityRate, CountsWhatWasPlayed) {
    ParityRate rate;
    rate.add({.parity = Parity::agree, .simulated = {"x"}, .as_expected = true});
    rate.add({.parity = Parity::agree, .simulated = {"x"}});
    rate.add({.parity = Parity::agree});
    rate.add({.parity = Parity::explained});
    rate.add({.parity = Parity::not_played});
    EXPECT_EQ(rate.text("local"),
              "3 of 4 scenarios have the same findings in sim and local (75 %), 1 of them what the scenario "
              "expects, 1 something else and 1 nothing; of the others 1 say why, 0 do not");
}

}  // namespace
}  // namespace deadrank::runners
