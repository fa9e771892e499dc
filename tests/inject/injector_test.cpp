// tests/inject/injector_test.cpp — Goal: a fault happens at its moment, on its rank, as often as it says and
// no more, ends when it should, and the truth says so; a refused lever is reported and never passed over.
#include "inject/core/injector.h"

#include <gtest/gtest.h>

#include "inject/faults/fault_catalog.h"
#include "tests/inject/recording_levers.h"

namespace deadrank::inject {
namespace {

using scenarios::FaultSpec;
using scenarios::Trigger;
using scenarios::Value;
using scenarios::ValueType;
using testing::RecordingLevers;
using Pulls = std::vector<std::string>;

FaultSpec on(std::vector<std::int64_t> ranks, std::string kind, Trigger when) {
    FaultSpec spec{.kind = std::move(kind), .parameters = {}, .when = std::move(when)};
    spec.parameters["rank"] = Value{.type = ValueType::ranks, .list = std::move(ranks)};
    return spec;
}

class InjectorTest : public ::testing::Test {
protected:
    void plan(std::vector<FaultSpec> faults) {
        injector.emplace(Injector::make(fault_catalog(), faults, truth).value());
    }
    void moment(Rank rank, std::int64_t step, std::string_view call, std::int64_t now = 0,
                std::string_view comm = "world", results::Phase phase = results::Phase::none) {
        injector->at(
            {.rank = rank, .now = Time(now), .step = step, .phase = phase, .call = call, .comm = comm},
            levers);
    }
    std::vector<std::string> marks() const {
        std::vector<std::string> kinds;
        for (const auto& mark : truth.marks) kinds.emplace_back(name_of(mark.kind));
        return kinds;
    }

    results::Truth truth;
    std::optional<Injector> injector;
    RecordingLevers levers;
};

TEST_F(InjectorTest, ActsBeforeTheNamedCallOfTheNamedStepOnly) {
    plan({on({3}, "kill_rank", {.step = 7, .before = "all_reduce"})});
    moment(3, 6, "all_reduce");
    moment(3, 7, "broadcast");
    moment(2, 7, "all_reduce");
    EXPECT_EQ(levers.pulls, Pulls{});
    moment(3, 7, "all_reduce", 42);
    moment(3, 7, "all_reduce", 43);
    EXPECT_EQ(levers.pulls, Pulls{"kill 3 9"});
    ASSERT_EQ(truth.marks.size(), 1u);
    const results::Mark& mark = truth.marks[0];
    EXPECT_EQ(mark.at, Time(42));
    EXPECT_EQ(mark.blame,
              (results::Blame{.ranks = {3}, .nodes = {1}, .step = 7, .collective = "all_reduce"}));
    EXPECT_EQ(mark.says, "kill_rank on rank 3 in step 7 before all_reduce");
}

TEST_F(InjectorTest, CountsTheNthCallOfEachRankApart) {
    plan({on({1, 2}, "skip_collective", {.before = "all_reduce", .nth = 2})});
    moment(1, 0, "all_reduce");
    moment(2, 0, "all_reduce");
    EXPECT_EQ(levers.pulls, Pulls{});
    moment(1, 1, "all_reduce");
    EXPECT_EQ(levers.pulls, Pulls{"alter_call 1 skip"});
    EXPECT_FALSE(injector->armed(1));
    EXPECT_TRUE(injector->armed(2));
    moment(2, 1, "all_reduce");
    EXPECT_EQ(levers.pulls, (Pulls{"alter_call 1 skip", "alter_call 2 skip"}));
    EXPECT_FALSE(injector->armed(2));
    EXPECT_EQ(truth.marks[0].blame.ranks, std::vector<Rank>{1}) << "each rank is to blame for its own call";
}

TEST_F(InjectorTest, AStepAloneMeansItsBeginningAndAPhaseAloneItsBeginning) {
    plan({on({0}, "kill_rank", {.step = 2}), on({1}, "kill_rank", {.step = 2, .phase = "backward"})});
    moment(0, 2, "all_reduce");
    moment(1, 2, "phase", 0, "", results::Phase::forward);
    moment(1, 2, "all_reduce", 0, "", results::Phase::backward);
    EXPECT_EQ(levers.pulls, Pulls{});
    moment(0, 2, "step");
    moment(1, 2, "phase", 0, "", results::Phase::backward);
    EXPECT_EQ(levers.pulls, (Pulls{"kill 0 9", "kill 1 9"}));
}

TEST_F(InjectorTest, AFaultOfACallWaitsForOneWhenNoneIsNamed) {
    plan({on({0}, "skip_collective", {.step = 2})});
    moment(0, 2, "step");
    moment(0, 2, "send");
    moment(0, 2, "checkpoint_save");
    EXPECT_EQ(levers.pulls, Pulls{});
    moment(0, 2, "reduce_scatter");
    EXPECT_EQ(levers.pulls, Pulls{"alter_call 0 skip"});
}

TEST_F(InjectorTest, AFaultOfAProcessWaitsForOneWhenNothingIsNamed) {
    plan({on({0}, "kill_rank", {})});
    ASSERT_TRUE(injector->at_start(levers).has_value());
    EXPECT_EQ(levers.pulls, Pulls{}) << "before the start there is nothing to kill";
    moment(0, 0, "step");
    EXPECT_EQ(levers.pulls, Pulls{"kill 0 9"});
}

TEST_F(InjectorTest, OnlyOnTheNamedCommunicator) {
    plan({on({0}, "skip_collective", {.comm = "tp"})});
    moment(0, 0, "all_reduce", 0, "dp");
    EXPECT_EQ(levers.pulls, Pulls{});
    moment(0, 0, "all_reduce", 0, "tp");
    EXPECT_EQ(levers.pulls.size(), 1u);
}

TEST_F(InjectorTest, AlwaysMeansEveryMatchUntilTheLastStepAndOneMark) {
    plan({on({0}, "delay_collective", {.step = 1, .before = "all_reduce", .always = true, .until_step = 2})});
    for (std::int64_t step = 0; step < 5; ++step) {
        moment(0, step, "all_reduce");
        moment(0, step, "all_reduce");
    }
    EXPECT_EQ(levers.pulls.size(), 4u) << "two calls in each of the steps 1 and 2";
    EXPECT_EQ(marks(), (Pulls{"fault.applied", "fault.reverted"}));
    EXPECT_TRUE(injector->armed(0)) << "a restart may bring its steps again";
}

// Goal: the steps of a fault are those of every attempt; a restart does not close it.
TEST_F(InjectorTest, AFaultWithALastStepComesAgainWithItsSteps) {
    plan({on({0}, "slow_rank", {.step = 1, .until_step = 2})});
    for (std::int64_t step = 0; step < 5; ++step) moment(0, step, "step", step);
    for (std::int64_t step = 0; step < 5; ++step) moment(0, step, "step", 10 + step);
    EXPECT_EQ(levers.pulls, (Pulls{"change_device 0 slow=2000", "change_device 0 slow=1000",
                                   "change_device 0 slow=2000", "change_device 0 slow=1000"}));
}

TEST_F(InjectorTest, AStateEndsAfterItsLastStep) {
    plan({on({0}, "slow_rank", {.step = 1, .until_step = 2})});
    for (std::int64_t step = 0; step < 5; ++step) moment(0, step, "step", step);
    EXPECT_EQ(levers.pulls, (Pulls{"change_device 0 slow=2000", "change_device 0 slow=1000"}));
    EXPECT_EQ(truth.marks[1].at, Time(3));
}

TEST_F(InjectorTest, WhatLastsIsRevertedWhenItsTimeIsOver) {
    plan({on({0}, "slow_rank", {.step = 1, .lasts = 100})});
    EXPECT_EQ(injector->next_alarm(), results::never);
    moment(0, 1, "step", 50);
    EXPECT_EQ(injector->next_alarm(), Time(150));
    injector->tick(Time(149), levers);
    EXPECT_EQ(levers.pulls.size(), 1u);
    injector->tick(Time(150), levers);
    EXPECT_EQ(levers.pulls.back(), "change_device 0 slow=1000");
    EXPECT_EQ(injector->next_alarm(), results::never);
    moment(0, 1, "step", 200);
    EXPECT_EQ(levers.pulls.size(), 2u) << "once is once";
}

TEST_F(InjectorTest, APauseEndsByItself) {
    plan({on({0}, "pause_rank", {.step = 0})});
    moment(0, 0, "step", 10);
    EXPECT_EQ(injector->next_alarm(), Time(10) + std::chrono::seconds(5));
    injector->tick(injector->next_alarm(), levers);
    EXPECT_EQ(levers.pulls, (Pulls{"stop 0", "resume 0"}));
}

TEST_F(InjectorTest, AFlapGoesDownAndUpAsOftenAsItSays) {
    FaultSpec flap{.kind = "flap_link", .parameters = {}, .when = {.at = 1000}};
    flap.parameters["node"] = Value{.type = ValueType::nodes, .list = {1}};
    flap.parameters["times"] = Value{.number = 3};
    plan({flap});
    int rings = 0;
    for (; injector->next_alarm() != results::never && rings < 20; ++rings)
        injector->tick(injector->next_alarm(), levers);
    EXPECT_EQ(levers.pulls.size(), 6u);
    EXPECT_EQ(levers.pulls.back(), "change_link 1--1 down=false");
    EXPECT_EQ(rings, 6);
    EXPECT_EQ(truth.marks.front().at, Time(1000));
    EXPECT_EQ(truth.marks.back().at, Time(1000) + std::chrono::seconds(3 * 3 + 2 * 30));
}

TEST_F(InjectorTest, ByTheClockNeedsNoMoment) {
    plan({on({2}, "kill_rank", {.at = 500})});
    EXPECT_FALSE(injector->armed(2));
    EXPECT_EQ(injector->next_alarm(), Time(500));
    injector->tick(Time(500), levers);
    EXPECT_EQ(levers.pulls, Pulls{"kill 2 9"});
}

TEST_F(InjectorTest, ATimeWithACallMeansNotBefore) {
    plan({on({2}, "kill_rank", {.at = 500, .before = "all_reduce"})});
    moment(2, 0, "all_reduce", 499);
    EXPECT_EQ(levers.pulls, Pulls{});
    moment(2, 0, "all_reduce", 501);
    EXPECT_EQ(levers.pulls, Pulls{"kill 2 9"});
}

TEST_F(InjectorTest, AtTheStartEveryRankOfTheFaultIsBrokenUnderOneMark) {
    FaultSpec skew = on({1, 3}, "skew_version", {.at_start = true});
    skew.parameters["package"] = Value{.type = ValueType::text, .text = "nccl"};
    skew.parameters["version"] = Value{.type = ValueType::text, .text = "2.19.3"};
    plan({skew});
    ASSERT_TRUE(injector->at_start(levers).has_value());
    EXPECT_EQ(levers.pulls, (Pulls{"set_version 1 nccl 2.19.3", "set_version 3 nccl 2.19.3"}));
    ASSERT_EQ(truth.marks.size(), 1u);
    EXPECT_EQ(truth.marks[0].blame, (results::Blame{.ranks = {1, 3}, .nodes = {0, 1}, .component = "nccl"}));
    EXPECT_FALSE(injector->armed(1));
}

TEST_F(InjectorTest, AFaultOfANodeHappensOnceAndBlamesItsRanks) {
    FaultSpec lost{.kind = "lose_node", .parameters = {}, .when = {.step = 3}};
    lost.parameters["node"] = Value{.type = ValueType::nodes, .list = {2}};
    plan({lost});
    EXPECT_TRUE(injector->armed(0)) << "the first rank to get there sets it off";
    moment(0, 3, "step");
    moment(1, 3, "step");
    EXPECT_EQ(levers.pulls, Pulls{"change_host node 2 down"});
    EXPECT_EQ(truth.marks[0].blame.ranks, (std::vector<Rank>{4, 5}));
}

TEST_F(InjectorTest, ARefusedLeverIsMarkedReportedAndNotTriedAgain) {
    levers.refused = {"kill"};
    plan({on({3}, "kill_rank", {.step = 1, .always = true})});
    moment(3, 1, "step");
    moment(3, 2, "step");
    EXPECT_EQ(marks(), Pulls{"fault.refused"});
    ASSERT_TRUE(injector->refusal().has_value());
    EXPECT_EQ(injector->refusal()->code, scenarios::ErrorCode::unsupported);
    EXPECT_NE(truth.marks[0].says.find("there is no lever kill"), std::string::npos);
    EXPECT_FALSE(truth.applied());
}

TEST_F(InjectorTest, AnUnsupportedStartIsAnError) {
    levers.refused = {"swap_ranks"};
    plan({on({0, 1}, "swap_ranks", {.at_start = true})});
    const auto started = injector->at_start(levers);
    ASSERT_FALSE(started.has_value());
    EXPECT_EQ(started.error().code, scenarios::ErrorCode::unsupported);
}

TEST_F(InjectorTest, RefusesAPlanWithAnUnknownKind) {
    EXPECT_FALSE(Injector::make(fault_catalog(), {on({0}, "explode", {})}, truth).has_value());
}

// Goal: what never happened is told with the moment that came nearest.
TEST_F(InjectorTest, AFaultWithoutAMomentIsMissedAndNamesTheNearest) {
    plan({on({3}, "kill_rank", {.step = 7, .before = "all_gather"})});
    moment(3, 6, "all_reduce");
    moment(3, 5, "all_gather");
    moment(2, 7, "all_gather");
    injector->conclude(Time(99), levers);
    ASSERT_EQ(marks(), Pulls{"fault.missed"});
    EXPECT_EQ(truth.marks[0].at, Time(99));
    EXPECT_EQ(truth.marks[0].says,
              "the `when` of kill_rank was never met; the nearest moment was at all_gather in step 5");
    ASSERT_NE(truth.idle(), nullptr);
}

// Goal: what was changed after it was read for the last time changed nothing.
TEST_F(InjectorTest, AFaultWhoseValueNobodyAsksForAfterwardsIsUnread) {
    FaultSpec bend = on({1}, "bend_value", {.step = 4});
    bend.parameters["seam"] = Value{.type = ValueType::text, .text = "group.size"};
    plan({bend});
    moment(1, -1, "group.size");
    moment(1, 4, "step");
    levers.asked = false;
    injector->conclude(Time(99), levers);
    ASSERT_EQ(marks(), (Pulls{"fault.applied", "fault.unread"}));
    EXPECT_EQ(
        truth.marks[1].says,
        "nothing read group.size after bend_value; it was last asked for at group.size before the first "
        "step");
    EXPECT_FALSE(truth.took_place());
}

TEST_F(InjectorTest, ABackendThatDoesNotWatchSaysNothingOfReading) {
    FaultSpec bend = on({1}, "bend_value", {.step = 4});
    bend.parameters["seam"] = Value{.type = ValueType::text, .text = "group.size"};
    plan({bend});
    moment(1, 4, "step");
    injector->conclude(Time(99), levers);
    EXPECT_EQ(marks(), Pulls{"fault.applied"});
    levers.asked = true;
    injector->conclude(Time(99), levers);
    EXPECT_EQ(marks(), Pulls{"fault.applied"});
}

// Goal: a muted fault keeps its moments and its marks; only the effect is missing.
TEST_F(InjectorTest, AMutedFaultIsMarkedAndPullsNothing) {
    plan({on({3}, "kill_rank", {.step = 7}), on({2}, "stop_rank", {.step = 7})});
    injector->mute("kill_rank");
    moment(3, 7, "step");
    moment(2, 7, "step");
    EXPECT_EQ(levers.pulls, Pulls{"stop 2"});
    EXPECT_EQ(marks(), (Pulls{"fault.applied", "fault.applied"}));
    injector->conclude(Time(99), levers);
    EXPECT_EQ(truth.idle(), nullptr);
}

// Goal: a fault that only brings about what shows the bug is not among those who must be named.
TEST_F(InjectorTest, AFaultThatOnlyProvokesBlamesNobody) {
    FaultSpec kill = on({3}, "kill_rank", {.step = 7});
    kill.provokes = true;
    plan({kill});
    moment(3, 7, "step");
    EXPECT_EQ(truth.culprit(), results::Blame{});
    EXPECT_TRUE(truth.applied());
}

// Goal: what sits in a machine comes back with every start on it, and is over once a spare has its place.
TEST_F(InjectorTest, ADefectOfAMachineEndsWithTheMachine) {
    const Trigger each_time{.before = "all_reduce", .always = true};
    FaultSpec defect = on({2, 4}, "hang_kernel", each_time);
    defect.hardware = true;
    FaultSpec flapping{.kind = "flap_link", .parameters = {}, .when = {.at = 10}};
    flapping.parameters["node"] = Value{.type = ValueType::nodes, .list = {1}};
    flapping.hardware = true;
    plan({defect, on({3}, "hang_kernel", each_time), flapping});
    injector->tick(Time(10), levers);
    const std::size_t flapped = levers.pulls.size();
    injector->replaced(1, Time(20), levers);
    EXPECT_GT(levers.pulls.size(), flapped) << "the link is whole again";
    EXPECT_EQ(injector->next_alarm(), results::never);
    EXPECT_FALSE(injector->armed(2));
    levers.pulls.clear();
    for (const Rank rank : {2, 3, 4}) moment(rank, 0, "all_reduce");
    EXPECT_EQ(levers.pulls, (Pulls{"alter_call 3 never_completes", "alter_call 4 never_completes"}))
        << "rank 3 hangs by the job's own fault, and rank 4 is on another node";
}

}  // namespace
}  // namespace deadrank::inject
