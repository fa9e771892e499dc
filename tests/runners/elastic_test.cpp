// tests/runners/elastic_test.cpp — Goal: replicas that are killed, stopped or lost at any moment come back,
// and all end with the very parameters that the undisturbed run has; and each part of the protocol is what
// does it.
#include <gmock/gmock.h>
#include <set>

#include "runners/backends/sim/sim_runner.h"
#include "runners/find/finds.h"
#include "runners/find/harm.h"
#include "runners/find/properties.h"
#include "tests/runners/find/planted.h"

namespace deadrank::runners::find {
namespace {

using scenarios::FaultSpec;
using scenarios::Plan;
using scenarios::Trigger;
using scenarios::Value;
using scenarios::ValueType;
using ::testing::Contains;

Plan replicas() {
    Plan plan = *usual_plan("elastic", testing::words());
    plan.scenario = "test/elastic";
    return plan;
}

Plan set(Plan plan, const std::string& name, const std::string& word) {
    plan.workload[name] = {.type = ValueType::choice, .text = word};
    return plan;
}

FaultSpec hits(const std::string& kind, std::int64_t rank, const Trigger& when) {
    FaultSpec fault{.kind = kind, .parameters = {}, .when = when};
    fault.parameters["rank"] = Value{.type = ValueType::ranks, .list = {rank}};
    if (kind == "kill_rank") fault.parameters["signal"] = {.type = ValueType::integer, .number = 9};
    return fault;
}

Trigger at_step(std::int64_t step, const std::string& phase = {}) {
    Trigger when;
    when.step = step;
    if (!phase.empty()) when.phase = phase;
    return when;
}

Plan with(Plan plan, std::vector<FaultSpec> faults) {
    plan.faults = std::move(faults);
    return plan;
}

TrialedPlan looked(const Plan& plan) {
    static SimRunner runner;
    PlanTrials trials(runner, nullptr, nullptr);
    auto tried = trials.try_plan(plan);
    EXPECT_TRUE(tried.has_value()) << (tried ? "" : tried.error().text());
    return std::move(*tried);
}

std::vector<std::string> promises_broken(const TrialedPlan& tried) {
    std::vector<std::string> ways;
    for (const Signature& one :
         broken(tried,
                *properties_named({"steps_count_for_all", "members_hold_the_same", "samples_count_once",
                                   "ends_as_undisturbed", "goes_on_in_time", "no_restart_without_fault"})))
        ways.push_back(one.text());
    return ways;
}

std::size_t count(const TrialedPlan& tried, const auto& which) {
    std::size_t found = 0;
    for (const auto& event : tried.fault.record.evidence.events()) found += which(event) ? 1 : 0;
    return found;
}

const std::vector<std::string> kept;  // every promise

TEST(Elastic, GoesThroughUndisturbed) {
    const TrialedPlan tried = looked(replicas());
    EXPECT_TRUE(tried.is_job());
    EXPECT_TRUE(tried.control->findings.empty()) << tried.control->findings.front().says;
    EXPECT_EQ(count(tried, [](const auto& e) { return e.template as<results::StepEnd>() != nullptr; }), 64u);
    EXPECT_EQ(count(tried, [](const auto& e) { return e.template as<results::CommInitLeave>() != nullptr; }),
              8u)
        << "one communicator lasts as long as its members do";
}

TEST(Elastic, EqualsOneRankAloneWhateverItsSize) {
    Plan plan = with(replicas(), {hits("kill_rank", 5, at_step(2, "reduce"))});
    plan.workload["reference"].number = 1;
    const TrialedPlan tried = looked(plan);
    for (const auto* event : tried.fault.record.evidence.each<results::ValueSample>()) {
        const auto* value = event->as<results::ValueSample>();
        EXPECT_EQ(value->value, value->expected) << value->step << " on rank " << event->rank;
    }
}

struct Killed {
    std::string library;
    std::string phase;
};

class ElasticKilled : public ::testing::TestWithParam<Killed> {};

TEST_P(ElasticKilled, ComesBackAndEndsAsUndisturbed) {
    for (const std::int64_t rank : {0, 3, 7}) {
        for (const std::int64_t step : {0, 4, 7}) {
            Plan plan = with(replicas(), {hits("kill_rank", rank, at_step(step, GetParam().phase))});
            plan.cluster["library"].text = GetParam().library;
            const TrialedPlan tried = looked(plan);
            EXPECT_TRUE(tried.fault.record.truth.applied());
            EXPECT_EQ(promises_broken(tried), kept) << "rank " << rank << ", step " << step;
        }
    }
}

INSTANTIATE_TEST_SUITE_P(
    EachPhase, ElasticKilled, ::testing::ValuesIn([] {
        std::vector<Killed> all;
        for (const char* library : {"nccl", "gloo"}) {
            for (const char* phase : {"setup", "data", "forward", "backward", "reduce", "optimizer"})
                all.push_back({library, phase});
        }
        return all;
    }()),
    [](const auto& shown) { return shown.param.library + "_" + shown.param.phase; });

TEST(Elastic, SurvivesAKillBeforeEachCallOfTheProtocol) {
    for (const char* call : {"comm_init", "store_set", "store_add", "store_get", "all_reduce"}) {
        for (const std::int64_t nth : {1, 2, 3, 5, 8, 13}) {
            Trigger when;
            when.before = call;
            when.nth = nth;
            const TrialedPlan tried = looked(with(replicas(), {hits("kill_rank", 2, when)}));
            EXPECT_EQ(promises_broken(tried), kept) << call << " " << nth;
        }
    }
}

TEST(Elastic, SurvivesASecondKillWhileTheFirstOneHeals) {
    for (const std::int64_t second : {0, 2, 6}) {
        for (const char* call : {"send", "recv", "comm_init"}) {
            Trigger when;
            when.before = call;
            when.nth = std::string(call) == "comm_init" ? 2 : 1;
            const TrialedPlan tried = looked(with(
                replicas(), {hits("kill_rank", 2, at_step(3, "forward")), hits("kill_rank", second, when)}));
            EXPECT_EQ(promises_broken(tried), kept) << call << " of rank " << second;
        }
    }
}

TEST(Elastic, LeavesOneThatStandsStillAndTakesItBack) {
    for (const std::int64_t seconds : {2, 8, 30}) {  // within the time-outs of a step, and beyond
        FaultSpec pause = hits("pause_rank", 4, at_step(2, "backward"));
        pause.parameters["for"] = {.type = ValueType::duration, .number = seconds * 1'000'000'000};
        Plan plan = with(replicas(), {pause});
        plan.workload["steps"].number = 40;
        plan.workload["step_time"].number = 1'000'000'000;
        const TrialedPlan tried = looked(plan);
        EXPECT_EQ(promises_broken(tried), kept) << seconds;
        const auto heals =
            count(tried, [](const auto& e) { return e.template as<results::CheckpointLoad>() != nullptr; });
        EXPECT_EQ(heals, seconds > 10 ? 1u : 0u) << seconds;
    }
}

TEST(Elastic, SparesTakeThePlacesOfTheLost) {
    Plan plan = with(replicas(), {hits("kill_rank", 1, at_step(3, "data"))});
    plan.workload["spares"].number = 2;
    plan.cluster["restarts_max"].number = 0;
    const TrialedPlan tried = looked(plan);
    EXPECT_TRUE(tried.is_job());
    std::set<results::Rank> at_the_end;
    for (const auto* event : tried.fault.record.evidence.each<results::StepEnd>()) {
        if (event->as<results::StepEnd>()->step == 7) at_the_end.insert(event->rank);
    }
    EXPECT_EQ(at_the_end, (std::set<results::Rank>{0, 2, 3, 4, 5, 6}));
    EXPECT_EQ(promises_broken(tried), kept);
}

TEST(Elastic, ReloadsPartsFromTheNextNodesCopies) {
    Plan plan = replicas();
    plan.cluster["nodes"].number = 3;
    plan.cluster["spare_nodes"] = {.type = ValueType::integer, .number = 1};
    plan.workload["recovery"].text = "checkpoint";
    FaultSpec lost{.kind = "lose_node", .parameters = {}, .when = at_step(5, "forward")};
    lost.parameters["node"] = Value{.type = ValueType::nodes, .list = {1}};
    plan.faults = {lost};
    const TrialedPlan tried = looked(plan);
    EXPECT_EQ(promises_broken(tried), kept);
    EXPECT_EQ(tried.fault.record.truth.ends.at(5), results::RankEnd::finished) << "on the spare node";
    std::set<std::int64_t> reloaded;
    for (const auto* event : tried.fault.record.evidence.each<results::CheckpointLoad>())
        reloaded.insert(event->as<results::CheckpointLoad>()->step);
    EXPECT_EQ(reloaded, std::set<std::int64_t>{3});

    plan.workload["copies"].number = 0;  // the control of this test: the copies are what did it
    const TrialedPlan alone = looked(plan);
    EXPECT_NE(promises_broken(alone), kept);
}

// Each setting that breaks the protocol breaks a promise, under a kill that the protocol survives.
TEST(Elastic, BreaksAPromiseWhereAPartOfTheProtocolIsLeftOut) {
    const auto broken_by = [](const std::string& name, const std::string& word, const std::string& phase,
                              std::int64_t rank) {
        return promises_broken(
            looked(with(set(replicas(), name, word), {hits("kill_rank", rank, at_step(4, phase))})));
    };
    const auto other_end = Contains("ends_as_undisturbed: a replica ends with other parameters");
    EXPECT_THAT(broken_by("commit", "alone", "optimizer", 3), other_end);
    EXPECT_THAT(broken_by("heal_state", "parameters", "forward", 3), other_end);
    EXPECT_THAT(broken_by("heal_from", "first", "forward", 0),
                Contains("members_hold_the_same: two members hold different parameters"));
    Plan counted = with(set(replicas(), "quorum", "launcher"), {hits("kill_rank", 3, at_step(4, "forward"))});
    counted.cluster["restarts_max"].number = 0;
    EXPECT_THAT(promises_broken(looked(counted)), Contains("goes_on_in_time: it did not come to its end"));
    EXPECT_EQ(promises_broken(looked(set(counted, "quorum", "reports"))), kept);
}

}  // namespace
}  // namespace deadrank::runners::find
