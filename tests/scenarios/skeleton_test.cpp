// tests/scenarios/skeleton_test.cpp — Goal: what `deadrank new` writes loads as it stands, whatever was asked
// for; a mistyped word is named.
#include "scenarios/format/skeleton.h"

#include <gtest/gtest.h>

#include "scenarios/format/plan_file.h"
#include "tests/scenarios/sample.h"

namespace deadrank::tests {
namespace {

using scenarios::SkeletonOptions;

scenarios::Result<std::string> made(const SkeletonOptions& wish) {
    return scenarios::skeleton(wish, sample_taxonomy(), sample_vocabulary());
}

TEST(Skeleton, LoadsAndResolvesForEveryFaultWorkloadAndSymptom) {
    const auto vocabulary = sample_vocabulary();
    for (const auto& symptom : sample_taxonomy().symptoms) {
        for (const auto& fault : vocabulary.faults) {
            for (const auto& workload : vocabulary.workloads) {
                const auto text = made({"communication/mine", symptom.id, fault.name, "", "", workload.name});
                ASSERT_TRUE(text) << text.error().text();
                const auto scenario = load_sample(*text);
                ASSERT_TRUE(scenario) << scenario.error().text() << "\n" << *text;
                EXPECT_EQ(scenario->bug.symptom, symptom.id);
                EXPECT_EQ(scenario->faults.at(0).kind, fault.name);
                EXPECT_EQ(scenario->workload_kind, workload.name);
                const auto trial =
                    scenarios::resolve(*scenario, {1}, {.levers = {"*"}, .workloads = {"*"}}, vocabulary);
                EXPECT_TRUE(trial) << trial.error().text();
            }
        }
    }
}

TEST(Skeleton, LetsTheFaultActInAStepThatTheWorkloadMakes) {
    for (std::int64_t steps = 1; steps < 20; ++steps) {
        const auto text = made({.id = "communication/mine",
                                .symptom = "collective_deadlock_hang",
                                .fault = "kill_rank",
                                .cause = {},
                                .fix = {},
                                .workload = {},
                                .steps = steps});
        ASSERT_TRUE(text) << text.error().text();
        const auto scenario = load_sample(*text);
        ASSERT_TRUE(scenario) << scenario.error().text();
        const auto& step = scenario->faults.at(0).when.values.at("step");
        const auto first = step.range ? step.range->first.number : step.options.front().number;
        const auto last = step.range ? step.range->second.number : first;
        EXPECT_LE(0, first);
        EXPECT_LE(first, last);
        EXPECT_LT(last, steps);
    }
}

TEST(Skeleton, TakesTheMostReportedCauseAndShowsTheOthers) {
    const auto text = made({"communication/mine", "collective_deadlock_hang", "kill_rank"});
    ASSERT_TRUE(text) << text.error().text();
    const auto scenario = load_sample(*text);
    const std::string cause = scenario->bug.cause;
    std::int64_t most = 0, taken = -1;
    for (const auto& pair : sample_taxonomy().pairs) {
        if (pair.symptom != "collective_deadlock_hang") continue;
        most = std::max(most, pair.reports);
        if (pair.cause == cause)
            taken = pair.reports;
        else
            EXPECT_NE(text->find(pair.cause), std::string::npos) << pair.cause;
    }
    EXPECT_EQ(taken, most);
}

TEST(Skeleton, ShowsEveryParameterWithItsSentence) {
    const auto text = made({"initialization/mine", "collective_deadlock_hang", "set_env"});
    EXPECT_NE(text->find("rank = \"any\"  # whom it hits\n"), std::string::npos) << *text;
    EXPECT_NE(text->find("name = \"…\"  # the variable\n"), std::string::npos);
    EXPECT_NE(text->find("# value = \"…\"  # its value\n"), std::string::npos);
}

TEST(Skeleton, RefusesWordsThatAreNotKnown) {
    const auto refusal = [](const SkeletonOptions& wish) {
        const auto text = made(wish);
        return text ? "made" : text.error().text();
    };
    const std::string hang = "collective_deadlock_hang";
    EXPECT_EQ(refusal({"lost", hang, "kill_rank"}),
              "'lost' is not a name of a scenario — write stage/name in small letters: "
              "communication/rank_leaves_all_reduce");
    EXPECT_EQ(refusal({"communication/../../etc/passwd", hang, "kill_rank"}).substr(0, 32),
              "'communication/../../etc/passwd'");
    EXPECT_EQ(refusal({"comunication/x", hang, "kill_rank"}),
              "there is no stage 'comunication' — did you mean 'communication'?");
    EXPECT_EQ(refusal({"communication/x", "colective_deadlock_hang", "kill_rank"}),
              "there is no symptom 'colective_deadlock_hang' — did you mean 'collective_deadlock_hang'?");
    EXPECT_EQ(refusal({"communication/x", hang, "kill_rnk"}),
              "there is no fault 'kill_rnk' — did you mean 'kill_rank'?");
    EXPECT_EQ(refusal({"communication/x", hang, "kill_rank", "", "", "data_paralel"}),
              "there is no workload 'data_paralel' — did you mean 'data_parallel'?");
}

}  // namespace
}  // namespace deadrank::tests
