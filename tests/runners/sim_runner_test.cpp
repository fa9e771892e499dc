// tests/runners/sim_runner_test.cpp — Goal: a plan played in the simulator does what its faults say, when
// they say it; the truth keeps it; and one plan is one run, on any thread and beside any other.
#include "runners/backends/sim/sim_runner.h"

#include <cmath>
#include <gtest/gtest.h>
#include <thread>

#include "runners/backend/extension.h"
#include "scenarios/format/plan_file.h"

namespace deadrank::runners {
namespace {

using results::RankEnd;
using scenarios::FaultSpec;
using scenarios::Plan;
using scenarios::Trigger;
using scenarios::Value;
using scenarios::ValueType;
using std::chrono::milliseconds;

Plan healthy_plan() {
    scenarios::Scenario scenario;
    scenario.id = "test/healthy";
    scenario.workload_kind = "data_parallel";
    scenario.workload["steps"] = {.options = {{.number = 4}}};
    return scenarios::resolve(scenario, {1}, SimRunner().capabilities(), vocabulary()).value().fault;
}

FaultSpec on(std::vector<std::int64_t> ranks, std::string kind, Trigger when,
             scenarios::Values further = {}) {
    FaultSpec spec{.kind = std::move(kind), .parameters = std::move(further), .when = std::move(when)};
    spec.parameters["rank"] = Value{.type = ValueType::ranks, .list = std::move(ranks)};
    return spec;
}

Plan with(std::vector<FaultSpec> faults) {
    Plan plan = healthy_plan();
    plan.faults = std::move(faults);
    plan.cluster["launcher"] = {.type = ValueType::choice, .text = "bare"};
    return plan;
}

Record played(const Plan& plan) {
    SimRunner runner;
    auto record = runner.run(plan, {});
    EXPECT_TRUE(record.has_value()) << record.error().text();
    return std::move(*record);
}

std::vector<std::string> mark_kinds(const Record& record) {
    std::vector<std::string> kinds;
    for (const auto& mark : record.truth.marks) kinds.emplace_back(name_of(mark.kind));
    return kinds;
}

TEST(SimRunner, PlaysAHealthyRunToItsEnd) {
    const Record record = played(healthy_plan());
    EXPECT_TRUE(record.truth.completed());
    EXPECT_FALSE(record.truth.applied());
    EXPECT_EQ(record.evidence.world_size(), 8);
    EXPECT_EQ(record.evidence.each<results::StepEnd>().size(), 32u) << "four steps of eight ranks";
    EXPECT_NE(record.trace_hash, 0u);
    EXPECT_EQ(record.rank_hashes.size(), 8u);
}

TEST(SimRunner, OnePlanIsOneRunOnAnyThread) {
    const Plan plan = with({on({3}, "kill_rank", {.step = 2, .before = "all_reduce"})});
    const Record first = played(plan);
    SimRunner shared;
    std::vector<Record> others(4);
    std::vector<std::thread> threads;
    for (Record& other : others) threads.emplace_back([&] { other = shared.run(plan, {}).value(); });
    for (std::thread& thread : threads) thread.join();
    for (const Record& other : others) {
        EXPECT_EQ(other.trace_hash, first.trace_hash);
        EXPECT_EQ(other.rank_hashes, first.rank_hashes);
        EXPECT_EQ(other.truth.marks, first.truth.marks);
    }
}

TEST(SimRunner, AFaultThatNeverHappensChangesNothing) {
    const Record without = played(with({}));
    const Record waiting = played(with({on({3}, "kill_rank", {.step = 99})}));
    EXPECT_EQ(waiting.trace_hash, without.trace_hash) << "being watched must not show";
    EXPECT_FALSE(waiting.truth.applied());
}

TEST(SimRunner, AKilledRankIsGoneAtItsMomentAndTheTruthSaysSo) {
    Plan plan = with({on({3}, "kill_rank", {.step = 2, .before = "all_reduce"})});
    plan.cluster["watchdog"] = {.type = ValueType::boolean, .number = 0};
    const Record record = played(plan);
    EXPECT_EQ(record.truth.ends[3], RankEnd::killed);
    EXPECT_EQ(record.truth.ends[0], RankEnd::stuck);
    const results::Mark& mark = record.truth.marks.front();
    EXPECT_EQ(mark.kind, results::MarkKind::applied);
    EXPECT_EQ(mark.blame.ranks, std::vector<results::Rank>{3});
    EXPECT_EQ(mark.blame.step, 2);
    EXPECT_EQ(mark.blame.collective, "all_reduce");
    EXPECT_FALSE(record.truth.waits_for.empty());
    for (const results::Event* event : record.evidence.each<results::StepEnd>()) {
        EXPECT_LT(event->as<results::StepEnd>()->step, 2);
    }
}

TEST(SimRunner, AnAlarmByTheClockReachesTheRank) {
    const results::Time when = milliseconds(200);
    const Record healthy = played(with({}));
    ASSERT_GT(healthy.ended, when);
    const Record record = played(with({on({1}, "kill_rank", {.at = when.count()})}));
    ASSERT_TRUE(record.truth.applied());
    EXPECT_EQ(record.truth.first_fault(), when);
    EXPECT_EQ(record.truth.ends[1], RankEnd::killed);
}

TEST(SimRunner, APauseMakesTheJobLaterAndNotDead) {
    const Record healthy = played(with({}));
    scenarios::Values how;
    how["for"] = {.type = ValueType::duration, .number = 7'000'000'000};
    const Record record = played(with({on({2}, "pause_rank", {.step = 1}, how)}));
    EXPECT_TRUE(record.truth.completed());
    EXPECT_GE(record.ended, healthy.ended + std::chrono::seconds(6));
    EXPECT_EQ(record.truth.marks[0].kind, results::MarkKind::applied);
    EXPECT_EQ(record.truth.marks[1].kind, results::MarkKind::reverted);
    EXPECT_EQ(record.truth.marks[1].at - record.truth.marks[0].at, std::chrono::seconds(7));
}

TEST(SimRunner, ABentValueIsBentForItsRankAndItsStepsOnly) {
    scenarios::Values how;
    how["seam"] = {.type = ValueType::text, .text = "optimizer.learning_rate"};
    how["multiply"] = {.number = 3};
    const Record record = played(with({on({5}, "bend_value", {.step = 1, .until_step = 2}, how)}));
    int bent = 0;
    for (const results::Event* event : record.evidence.each<results::ValueSample>()) {
        const auto& sample = *event->as<results::ValueSample>();
        if (record.evidence.text(sample.name) != "learning_rate") continue;
        EXPECT_TRUE(std::isnan(sample.expected)) << "the evidence has no right answer beside a rate";
        const bool wrong = sample.value > 0.02;
        EXPECT_EQ(wrong, event->rank == 5 && (sample.step == 1 || sample.step == 2))
            << event->rank << " " << sample.step;
        bent += wrong;
    }
    EXPECT_EQ(bent, 2);
}

TEST(SimRunner, AnAlterationWithoutACallIsRefusedAndMarked) {
    const Record record = played(with({on({0}, "resize_collective", {.step = 1, .before = "step"})}));
    EXPECT_EQ(mark_kinds(record).front(), "fault.refused");
    EXPECT_FALSE(record.truth.applied());
}

TEST(SimRunner, ARankOutsideTheClusterIsAnError) {
    SimRunner runner;
    const auto record = runner.run(with({on({99}, "kill_rank", {.at_start = true})}), {});
    ASSERT_FALSE(record.has_value());
    EXPECT_NE(record.error().text().find("99"), std::string::npos) << record.error().text();
}

TEST(SimRunner, NobodyIsKilledBeforeTheStart) {
    SimRunner runner;
    const auto record = runner.run(with({on({1}, "kill_rank", {.at_start = true})}), {});
    ASSERT_FALSE(record.has_value()) << "a kill that hits nothing must not count as applied";
    EXPECT_NE(record.error().text().find("no process"), std::string::npos) << record.error().text();
}

TEST(SimRunner, AnUnknownWorkloadIsUnsupported) {
    Plan plan = healthy_plan();
    plan.workload_kind = "knitting";
    SimRunner runner;
    const auto record = runner.run(plan, {});
    ASSERT_FALSE(record.has_value());
    EXPECT_EQ(record.error().code, scenarios::ErrorCode::unsupported);
}

TEST(SimRunner, AStopEndsALongRunAndKeepsWhatThereIs) {
    Plan plan = healthy_plan();
    plan.workload["steps"].number = 1'000'000;
    SimRunner runner;
    std::atomic<bool> stop = true;
    RunOptions options;
    options.stop = &stop;
    const Record record = runner.run(plan, options).value();
    EXPECT_FALSE(record.truth.completed());
    EXPECT_GT(record.evidence.events().size(), 1000u);
    EXPECT_EQ(record.truth.marks.back().says, "it was stopped");
}

TEST(SimRunner, WatchingForAStopLeavesNoMark) {
    std::atomic<bool> stop = false;
    RunOptions options;
    options.stop = &stop;
    SimRunner runner;
    EXPECT_EQ(runner.run(healthy_plan(), options).value().trace_hash, played(healthy_plan()).trace_hash);
}

TEST(SimRunner, KeepsNoEvidenceWhenToldSoAndIsTheSameRun) {
    SimRunner runner;
    RunOptions options;
    options.keep_evidence = false;
    const Record bare = runner.run(healthy_plan(), options).value();
    EXPECT_TRUE(bare.evidence.events().empty());
    EXPECT_EQ(bare.trace_hash, played(healthy_plan()).trace_hash);
}

}  // namespace
}  // namespace deadrank::runners
