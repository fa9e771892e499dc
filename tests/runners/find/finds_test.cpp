// tests/runners/find/finds_test.cpp — Goal: what the swarm once found in our own simulator stays mended.
#include <gtest/gtest.h>

#include "runners/find/harm.h"
#include "runners/find/passes.h"
#include "runners/find/sweep.h"
#include "tests/runners/find/planted.h"

namespace deadrank::runners::find {
namespace {

scenarios::Plan plan_of(const std::string& workload, std::int64_t nodes, std::int64_t gpus) {
    scenarios::Plan plan = *usual_plan(workload, testing::words());
    plan.cluster["nodes"].number = nodes;
    plan.cluster["gpus_per_node"].number = gpus;
    return plan;
}

// More ranks were to go on than there are: the data position counted ranks that nobody had, and samples came
// twice.
TEST(Finds, AJobThatIsToGoOnWithMoreRanksThanThereAreReadsNoSampleTwice) {
    SimRunner runner;
    PlanTrials trials(runner, nullptr, nullptr);
    const auto played = trials.repeat(plan_of("reshard", 1, 2));
    ASSERT_TRUE(played.has_value()) << played.error().text();
    EXPECT_TRUE(played->record.truth.completed());
    EXPECT_TRUE(played->findings.empty()) << played->findings.front().says;
}

// The layer that is used was not the one that was gathered: this ended the simulator itself.
TEST(Finds, ALayerThatWasNotGatheredHarmsTheJobAndNotTheSimulator) {
    scenarios::Plan plan = plan_of("fsdp", 1, 2);
    for (const Stocked& one : stock_of(testing::words(), *testing::words().workload("fsdp")).faults) {
        if (one.label == "bend_value prefetch.layer") plan.faults = {aimed(one, 1, {}, plan)};
    }
    ASSERT_EQ(plan.faults.size(), 1u);
    SimRunner runner;
    PlanTrials trials(runner, nullptr, nullptr);
    const auto sight = trials.try_plan(plan);
    ASSERT_TRUE(sight.has_value()) << sight.error().text();
    EXPECT_EQ(sight->harm, Harm::wrong_result);
    EXPECT_FALSE(sight->fault.findings.empty());
}

// Whoever leaves a call of its group out was not named where the group is a small one among many: the
// detectors took the smaller side of a circle for the wrong one.
TEST(Finds, WhoeverLeavesACallOfItsGroupOutIsNamedOnAnyRank) {
    for (const char* workload : {"context_parallel", "expert_parallel", "pipeline"}) {
        SweepOptions options{.base = plan_of(workload, 2, 4), .words = &testing::words()};
        options.base.workload["steps"].number = 3;
        options.kinds = {"skip_collective"};
        options.steps = {1};
        options.workers.make_runner = [] { return std::make_unique<SimRunner>(); };
        const Sweep swept = sweep(options);
        ASSERT_EQ(swept.cells.size(), 8u);
        for (const SweepCell& cell : swept.cells) {
            EXPECT_TRUE(cell.caught == Caught::named || cell.caught == Caught::not_applied)
                << workload << " rank " << cell.rank << ": " << cell.says;
        }
    }
}

}  // namespace
}  // namespace deadrank::runners::find
