// tests/runners/find/shrink_test.cpp — Goal: planted plans come down to what was planted, in the same number
// of tries each time, and never by way of a plan that contradicts itself.
#include "runners/find/shrink.h"

#include <algorithm>
#include <gtest/gtest.h>

#include "runners/find/finds.h"
#include "scenarios/format/closing.h"
#include "scenarios/format/plan_file.h"
#include "tests/runners/find/planted.h"

namespace deadrank::runners::find {
namespace {

using scenarios::FaultSpec;
using scenarios::Plan;
using testing::crowded_plan;
using testing::has_fault;
using testing::words;

// Goal: one fault of two hundred, on a rank of a large cluster, late in a long training.
TEST(Shrink, FindsOneFaultOfTwoHundred) {
    const Plan plan = crowded_plan(200);
    const Shrunk shrunk = shrink(
        plan, [](const Plan& one) { return has_fault(one, "kill_rank", 137); }, words());
    EXPECT_EQ(shrunk.after.faults, 1u);
    EXPECT_EQ(shrunk.after.ranks, 1);
    EXPECT_EQ(shrunk.after.steps, 1);
    EXPECT_EQ(shrunk.after.stated, 0u) << scenarios::to_toml(shrunk.plan);
    EXPECT_TRUE(shrunk.finished);
}

// Goal: faults, ranks, steps and a size that are all needed stay, and little more: within 1.5 of the optimum.
TEST(Shrink, ComesWithinHalfOfTheOptimum) {
    const Plan plan = crowded_plan(200);
    const auto fails = [](const Plan& one) {
        return has_fault(one, "kill_rank", 137) && has_fault(one, "stop_rank", 58) &&
               has_fault(one, "exit_rank", 199) && one.world_size() >= 12 &&
               one.number(one.workload, "steps") >= 9 && one.number(one.workload, "layers") >= 20;
    };
    ASSERT_TRUE(fails(plan));
    const Shrunk shrunk = shrink(plan, fails, words());
    EXPECT_TRUE(fails(shrunk.plan));
    EXPECT_EQ(shrunk.after.faults, 3u);
    EXPECT_LE(shrunk.after.ranks, 18);
    EXPECT_LE(shrunk.after.steps, 13);
    EXPECT_LE(shrunk.plan.number(shrunk.plan.workload, "layers"), 30);
}

// Goal: where two faults do what three others do as well, the two are found, wherever they lie.
TEST(Shrink, PrefersTheSmallerOfTwoWaysToFail) {
    const Plan plan = crowded_plan(200);
    const auto fails = [](const Plan& one) {
        const bool three = has_fault(one, "slow_rank", 4) && has_fault(one, "stop_rank", 10) &&
                           has_fault(one, "exit_rank", 15);
        return three || (has_fault(one, "kill_rank", 185) && has_fault(one, "exit_rank", 187));
    };
    ASSERT_TRUE(fails(plan));
    EXPECT_EQ(shrink(plan, fails, words()).after.faults, 2u);
}

TEST(Shrink, GivesTheSamePlanAfterTheSameNumberOfTries) {
    const auto fails = [](const Plan& one) {
        return has_fault(one, "kill_rank", 33) && has_fault(one, "slow_rank", 64) && one.world_size() >= 6;
    };
    const Shrunk first = shrink(crowded_plan(200), fails, words());
    const Shrunk second = shrink(crowded_plan(200), fails, words());
    EXPECT_EQ(scenarios::to_toml(first.plan), scenarios::to_toml(second.plan));
    EXPECT_EQ(first.tries, second.tries);
    EXPECT_EQ(first.taken, second.taken);
}

// Goal: the predicate sees only plans that could be loaded, and degrees of parallelism always divide.
TEST(Shrink, NeverAsksAboutAPlanThatContradictsItself) {
    Plan plan = testing::parallel_plan(8, 4);
    std::size_t asked = 0;
    const auto fails = [&](const Plan& one) {
        ++asked;
        EXPECT_EQ(scenarios::contradiction(one), std::nullopt) << scenarios::to_toml(one);
        if (one.workload_kind != "tensor_parallel") return false;
        EXPECT_EQ(one.world_size() % one.number(one.workload, "tp_size"), 0);
        return one.number(one.workload, "tp_size") >= 2;
    };
    const Shrunk shrunk = shrink(plan, fails, words());
    EXPECT_GT(asked, 3u);
    EXPECT_EQ(shrunk.after.ranks, 2);
    EXPECT_EQ(shrunk.plan.number(shrunk.plan.workload, "tp_size"), 2);
}

TEST(Shrink, KeepsWhatThereIsWhenItMayTryNoMore) {
    std::size_t asked = 0;
    const auto fails = [&](const Plan& one) { return ++asked, has_fault(one, "kill_rank", 137); };
    const Shrunk shrunk = shrink(crowded_plan(200), fails, words(), {.tries_most = 5});
    EXPECT_LE(asked, 5u);
    EXPECT_FALSE(shrunk.finished);
    EXPECT_TRUE(has_fault(shrunk.plan, "kill_rank", 137));
}

// Goal: a failure of the real simulator among two hundred faults is found, and the file that it becomes
// loads, resolves and fails alike.
TEST(Shrink, FindsAHangAmongTwoHundredRealFaults) {
    const tests::ShippedCatalog& catalog = testing::catalog();
    const Plan plan = testing::hang_among(200);
    SimRunner runner;
    PlanTrials trials(runner, nullptr, nullptr);
    const Signature signature = {std::string(symptom_is_reported), "collective_deadlock_hang"};
    const Fails fails = fails_alike(trials, signature);
    ASSERT_TRUE(fails(plan));
    const Shrunk shrunk = shrink(plan, fails, catalog.vocabulary);
    EXPECT_EQ(shrunk.after.faults, 1u);
    EXPECT_EQ(shrunk.after.ranks, 2);
    EXPECT_EQ(shrunk.after.steps, 1);
    const std::string text = testing::as_scenario(shrunk.plan);
    EXPECT_EQ(trouble_as_file(text, plan.scenario, shrunk.plan, trials, signature, testing::taxonomy(),
                              catalog.vocabulary),
              std::nullopt)
        << text;
}

}  // namespace
}  // namespace deadrank::runners::find
