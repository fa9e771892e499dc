// tests/runners/line_test.cpp — Goal: a trial plays control, fault and healed run from one set of draws,
// judges each, and whatever keeps us from knowing is unknown with its sentence, never pass and never a crash.
#include <gtest/gtest.h>

#include "runners/backend/extension.h"
#include "runners/pipeline/play_trial.h"
#include "runners/pipeline/token.h"
#include "scenarios/format/plan_file.h"
#include "tests/runners/fake_runner.h"

namespace deadrank::runners {
namespace {

using results::Verdict;
using scenarios::Plan;
using scenarios::Variant;
using testing_runner::FakeRunner;

// Says "rank 3 left an all-reduce" whenever a rank waits and the evidence has no end: enough for the line.
class HangDetector final : public results::Detector {
public:
    std::string_view name() const override { return "hang"; }
    std::vector<std::string_view> symptoms() const override { return {"collective_deadlock_hang"}; }
    std::vector<results::Finding> examine(const results::Evidence& evidence) const override {
        if (evidence.each<results::CollectiveEnter>().empty()) return {};
        return {{.symptom = "collective_deadlock_hang",
                 .detector = "hang",
                 .blame = {.ranks = {3}},
                 .at = std::chrono::seconds(65),
                 .says = "rank 3 never came"}};
    }
};

class LineTest : public ::testing::Test {
protected:
    LineTest() { detectors_.push_back(std::make_unique<HangDetector>()); }

    Trialled play_with(FakeRunner::Play how) {
        FakeRunner runner(std::move(how));
        options_.detectors = &detectors_;
        return play(testing_runner::killed_rank_scenario(), {5}, runner, vocabulary(), options_);
    }
    static scenarios::Result<Record> as_expected(const Plan& plan) {
        return plan.variant == Variant::fault ? testing_runner::hung_record()
                                              : testing_runner::finished_record();
    }

    results::Detectors detectors_;
    PipelineOptions options_;
};

TEST_F(LineTest, PlaysAllThreeAndTheWorstVerdictWins) {
    const Trialled trialled = play_with(as_expected);
    EXPECT_EQ(trialled.outcome.verdict, Verdict::pass) << trialled.outcome.reason;
    ASSERT_TRUE(trialled.control && trialled.fault && trialled.healed);
    EXPECT_TRUE(trialled.control->plan.faults.empty());
    EXPECT_EQ(trialled.fault->plan.faults.size(), 1u);
    EXPECT_EQ(trialled.control->plan.workload, trialled.fault->plan.workload) << "one set of draws";

    const Trialled noisy = play_with([](const Plan&) { return testing_runner::hung_record(); });
    EXPECT_EQ(noisy.outcome.verdict, Verdict::fail) << "the control rang";
    EXPECT_NE(noisy.outcome.reason.find("control"), std::string::npos) << noisy.outcome.reason;
}

TEST_F(LineTest, AHealByASettingThatTheProgramDoesNotReadIsUnknown) {
    for (const std::string unread : {"", "buckets", "layers"}) {
        FakeRunner runner(as_expected);
        runner.unread = unread;
        options_.detectors = &detectors_;
        auto scenario = testing_runner::killed_rank_scenario();
        scenario.heal.workload["buckets"].options = {{.number = 3}};
        const Trialled trialled = play(scenario, {5}, runner, vocabulary(), options_);
        const bool heals = unread != "buckets";
        EXPECT_EQ(trialled.outcome.verdict, heals ? Verdict::pass : Verdict::unknown)
            << trialled.outcome.reason;
        EXPECT_EQ(trialled.healed.has_value(), heals);
    }
}

TEST_F(LineTest, AFaultThatNeverHappenedIsUnknown) {
    const Trialled trialled = play_with([](const Plan&) { return testing_runner::finished_record(); });
    EXPECT_EQ(trialled.outcome.verdict, Verdict::unknown);
    EXPECT_NE(trialled.outcome.reason.find("the fault never happened"), std::string::npos)
        << trialled.outcome.reason;
}

TEST_F(LineTest, ALeverThatWasRefusedOnTheWayIsUnknownEvenWhenTheRestWasCaught) {
    const Trialled trialled = play_with([](const Plan& plan) {
        auto record = as_expected(plan);
        if (plan.variant == Variant::fault)
            record->truth.marks.push_back(
                {.kind = results::MarkKind::refused, .blame = {}, .says = "no such lever"});
        return record;
    });
    EXPECT_EQ(trialled.outcome.verdict, Verdict::unknown);
    EXPECT_NE(trialled.outcome.reason.find("no such lever"), std::string::npos) << trialled.outcome.reason;
}

TEST_F(LineTest, ARunnerThatCannotIsUnknownWithItsSentence) {
    const Trialled trialled = play_with([](const Plan&) -> scenarios::Result<Record> {
        return scenarios::refuse(scenarios::ErrorCode::environment, "there is no torch here", "install it");
    });
    EXPECT_EQ(trialled.outcome.verdict, Verdict::unknown);
    EXPECT_NE(trialled.outcome.reason.find("there is no torch here"), std::string::npos);
}

TEST_F(LineTest, ARunnerThatThrowsIsOurMistakeAndUnknown) {
    const Trialled trialled =
        play_with([](const Plan&) -> scenarios::Result<Record> { throw std::runtime_error("oops"); });
    EXPECT_EQ(trialled.outcome.verdict, Verdict::unknown);
    EXPECT_NE(trialled.outcome.reason.find("oops"), std::string::npos);
}

TEST_F(LineTest, TheTokenNamesThePlanAndTheTrace) {
    const Trialled trialled = play_with([](const Plan& plan) {
        auto record = as_expected(plan);
        record->trace_hash = 0x1234;
        return record;
    });
    const auto token = parse_token(trialled.outcome.token);
    ASSERT_TRUE(token.has_value()) << trialled.outcome.token;
    EXPECT_EQ(token->scenario, "communication/killed");
    EXPECT_EQ(token->seed, 5u);
    EXPECT_EQ(token->trace_hash, 0x1234u);
    EXPECT_EQ(token->plan_digest, scenarios::digest(trialled.fault->plan).substr(0, 8));
}

TEST_F(LineTest, ShowsEvidenceOnlyOfWhatDidNotPass) {
    EXPECT_TRUE(play_with(as_expected).outcome.excerpt.empty());
    detectors_.clear();
    const Trialled silent = play_with(as_expected);
    EXPECT_EQ(silent.outcome.verdict, Verdict::fail);
    EXPECT_FALSE(silent.outcome.excerpt.empty());
    EXPECT_LE(silent.outcome.excerpt.size(), 12u);
}

TEST_F(LineTest, AStopBeforeItBeganIsUnknown) {
    std::atomic<bool> stop = true;
    options_.stop = &stop;
    const Trialled trialled = play_with(as_expected);
    EXPECT_EQ(trialled.outcome.verdict, Verdict::unknown);
    EXPECT_NE(trialled.outcome.reason.find("stopped"), std::string::npos) << trialled.outcome.reason;
}

TEST_F(LineTest, WritesEveryValueOfTheFlowAsAFile) {
    const auto out = std::filesystem::path(::testing::TempDir()) / "deadrank_line";
    std::filesystem::remove_all(out);
    options_.out = out;
    const Trialled trialled = play_with(as_expected);
    const auto place = out / "communication" / "killed" / "5";
    EXPECT_EQ(trialled.outcome.directory, place);
    EXPECT_TRUE(trialled.outcome.notes.empty()) << trialled.outcome.notes.front();
    EXPECT_TRUE(std::filesystem::exists(place / "verdict.json"));
    for (const auto& run : {place, place / "control", place / "healed"}) {
        for (const char* file : {"plan.toml", "evidence.jsonl", "truth.json", "findings.json"}) {
            EXPECT_TRUE(std::filesystem::exists(run / file)) << run / file;
        }
    }
    std::filesystem::remove_all(out);
}

TEST_F(LineTest, ADirectoryThatCannotBeMadeCostsTheFilesAndNotTheVerdict) {
    const auto file = std::filesystem::path(::testing::TempDir()) / "deadrank_not_a_directory";
    std::fclose(std::fopen(file.c_str(), "w"));
    options_.out = file;
    const Trialled trialled = play_with(as_expected);
    EXPECT_EQ(trialled.outcome.verdict, Verdict::pass) << trialled.outcome.reason;
    ASSERT_FALSE(trialled.outcome.notes.empty());
    EXPECT_NE(trialled.outcome.notes.front().find("not written"), std::string::npos);
    std::filesystem::remove(file);
}

}  // namespace
}  // namespace deadrank::runners
