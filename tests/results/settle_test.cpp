// tests/results/settle_test.cpp — Goal: one event gives one finding, the one nearest to its root; unrelated
// events stay apart; a detector that throws is heard of and hides nobody.
#include <gtest/gtest.h>
#include <stdexcept>

#include "results/detectors/causality.h"
#include "results/detectors/detector.h"
#include "scenarios/model/taxonomy_ids.h"
#include "tests/results/hand_made.h"

namespace deadrank::tests {
namespace {

using namespace std::chrono_literals;
using results::Finding;
using results::Time;

Finding said(std::string symptom, Time at, std::vector<results::Rank> ranks = {3},
             std::string detector = "some") {
    return {.symptom = std::move(symptom),
            .detector = std::move(detector),
            .blame = {.ranks = std::move(ranks)},
            .at = at,
            .says = "words"};
}

std::vector<std::string> symptoms_of(const std::vector<Finding>& findings) {
    std::vector<std::string> symptoms;
    for (const Finding& finding : findings) symptoms.push_back(finding.symptom);
    return symptoms;
}

struct Pair {
    Finding root, other;
};

TEST(Settle, HasARuleForEachSymptom) {
    for (std::size_t i = 1; i < std::size(scenarios::symptom_ids); ++i) {
        const auto& rule = results::causality_of(said(scenarios::symptom_ids[i], 1s));
        EXPECT_EQ(rule.symptom, static_cast<scenarios::Symptom>(i));
        EXPECT_NE(rule.layer, results::Layer::none) << scenarios::symptom_ids[i];
    }
    EXPECT_EQ(results::causality_of(said("detector_crashed", 1s)).layer, results::Layer::none);
}

TEST(Settle, KeepsTheRootOfEachPair) {
    const std::vector<Pair> pairs = {
        {said("collective_mismatch_error", 5s), said("collective_timeout_abort", 605s)},
        {said("collective_timeout_abort", 605s), said("collective_deadlock_hang", 65s)},
        {said("collective_mismatch_error", 5s), said("collective_deadlock_hang", 65s)},
        {said("device_out_of_memory", 5s), said("collective_timeout_abort", 605s)},
        {said("device_fault_reported", 5s), said("framework_runtime_exception", 5s)},
        // What its peers say when it is gone, within the same second.
        {said("framework_runtime_exception", 5s), said("remote_peer_connection_error", 5'700ms)},
        {said("native_crash_or_illegal_access", 5s), said("collective_deadlock_hang", 65s)},
        {said("restart_or_recovery_failure", 90s), said("collective_deadlock_hang", 80s)},
        {said("restart_or_recovery_failure", 90s), said("native_crash_or_illegal_access", 5s)},
        {said("communication_setup_failure", 2s), said("collective_deadlock_hang", 65s)},
        {said("wrong_rank_or_group_membership", 1s), said("communication_setup_hang", 61s)},
        {said("wrong_rank_or_group_membership", 1s), said("communication_setup_failure", 301s)},
        {said("import_or_symbol_error", 1s), said("communication_setup_failure", 301s)},
        {said("remote_peer_connection_error", 5s), said("collective_timeout_abort", 605s)},
        {said("collective_timeout_abort", 605s), said("straggler_step_time_skew", 20s)},
        {said("straggler_step_time_skew", 20s), said("low_throughput_uniform", 10s, {})},
        {said("low_throughput_uniform", 20s, {3}, "low_throughput"),
         said("straggler_step_time_skew", 25s, {3}, "straggler")},
        {said("tensor_shape_or_dtype_error", 2s),
         said("parallel_result_mismatch", 1s, {3}, "shard_mismatch")},
        {said("collective_deadlock_hang", 65s, {3}, "environment_fault"),
         said("collective_deadlock_hang", 65s)},
        {said("communication_setup_hang", 65s, {3}, "version_skew"),
         said("communication_setup_hang", 65s, {4}, "environment_fault")},
    };
    for (const auto& [root, other] : pairs) {
        for (const auto& both : {std::vector{root, other}, std::vector{other, root}}) {
            const auto kept = results::settle(both);
            ASSERT_EQ(kept.size(), 1u) << root.symptom << " and " << other.symptom;
            EXPECT_EQ(std::tie(kept[0].symptom, kept[0].detector, kept[0].blame),
                      std::tie(root.symptom, root.detector, root.blame))
                << kept[0].symptom << " by " << kept[0].detector;
        }
    }
}

TEST(Settle, OfWrongValuesKeepsTheEarliestStepAndInOneStepTheMostSpecific) {
    const auto at_step = [](std::string symptom, std::int64_t step) {
        Finding finding = said(std::move(symptom), std::chrono::seconds(step));
        finding.blame.step = step;
        return finding;
    };
    EXPECT_EQ(symptoms_of(results::settle(
                  {at_step("loss_nan_or_divergence", 3), at_step("replica_state_divergence", 4)})),
              std::vector<std::string>{"loss_nan_or_divergence"});
    EXPECT_EQ(symptoms_of(results::settle({at_step("loss_nan_or_divergence", 4),
                                           at_step("replica_state_divergence", 4),
                                           at_step("parallel_result_mismatch", 4)})),
              std::vector<std::string>{"replica_state_divergence"});
}

TEST(Settle, LeavesUnrelatedEventsApart) {
    const auto kept =
        results::settle({said("straggler_step_time_skew", 20s, {1}), said("device_fault_reported", 3h, {7}),
                         said("native_crash_or_illegal_access", 30h, {4})});
    EXPECT_EQ(kept.size(), 3u);
    EXPECT_EQ(
        results::settle({said("device_fault_reported", 1s, {1}), said("device_fault_reported", 2h, {2})})
            .size(),
        2u);
}

TEST(Settle, ACrashDoesNotExplainWhatTheRestartAfterItMeets) {
    for (const char* met : {"resume_state_regression", "checkpoint_unreadable", "reshard_restore_failure"}) {
        const auto kept = results::settle({said("native_crash_or_illegal_access", 5s, {1}), said(met, 8s)});
        EXPECT_EQ(kept.size(), 2u) << met;
    }
    EXPECT_EQ(symptoms_of(
                  results::settle({said("checkpoint_unreadable", 8s), said("resume_state_regression", 9s)})),
              std::vector<std::string>{"checkpoint_unreadable"});
}

// The row of shard_mismatch says so; the same words of another detector are explained by the crash.
TEST(Settle, ACrashDoesNotExplainWhatWasSoFromTheStart) {
    const Finding crash = said("native_crash_or_illegal_access", 5'500ms);
    EXPECT_EQ(results::settle({said("parallel_result_mismatch", 5s, {3}, "shard_mismatch"), crash}).size(),
              2u);
    EXPECT_EQ(symptoms_of(results::settle({said("parallel_result_mismatch", 5s), crash})),
              std::vector<std::string>{crash.symptom});
}

TEST(Settle, AnErrorThatWasCaughtDoesNotExplainThatTheJobStandsStill) {
    Finding caught = said("device_out_of_memory", 5s);
    for (const char* still : {"collective_deadlock_hang", "collective_timeout_abort"}) {
        EXPECT_EQ(results::settle({caught, said(still, 65s)}).size(), 1u) << still;
        Finding lived = caught;
        lived.outlived = true;
        EXPECT_EQ(results::settle({lived, said(still, 65s)}).size(), 2u) << still;
    }
}

TEST(Settle, AnErrorKeepsTheStandstillThatFollowsFromIt) {
    const Finding error = said("framework_runtime_exception", 5s, {1});
    const auto kept = results::settle({error, said("collective_deadlock_hang", 65s, {1})});
    ASSERT_EQ(kept.size(), 1u);
    EXPECT_EQ(symptoms_of(kept.front().followed_by), std::vector<std::string>{"collective_deadlock_hang"});
    const auto died = results::settle({error, said("remote_peer_connection_error", 6s, {1})});
    ASSERT_EQ(died.size(), 1u);
    EXPECT_TRUE(died.front().followed_by.empty());
}

TEST(Settle, WhatWasWrongInAnEarlierStepIsToldBesideTheBreak) {
    const auto pair = [](std::int64_t wrong, std::int64_t broken) {
        Finding samples = said("wrong_sample_coverage", 1s), hang = said("collective_deadlock_hang", 64s);
        samples.blame.step = wrong;
        hang.blame.step = broken;
        return std::vector{samples, hang};
    };
    EXPECT_EQ(results::settle(pair(1, 144)).size(), 2u);
    EXPECT_EQ(symptoms_of(results::settle(pair(144, 144))),
              std::vector<std::string>{"collective_deadlock_hang"});
}

TEST(Settle, WhatRangLongBeforeNeedsNoReasonForItsConsequence) {
    const Finding doubled = said("wrong_rank_or_group_membership", 1s, {6});
    EXPECT_EQ(results::settle({doubled, said("communication_setup_hang", 61s, {6}, "environment_fault")}),
              std::vector{doubled});
    EXPECT_EQ(
        results::settle({doubled, said("communication_setup_hang", 61s, {2}, "environment_fault")}).size(),
        2u);
}

TEST(Settle, KeepsSymptomsItDoesNotKnow) {
    EXPECT_EQ(results::settle({said("something_new", 1s), said("communication_setup_failure", 1s)}).size(),
              2u);
}

class Thrower final : public results::Detector {
public:
    std::string_view name() const override { return "thrower"; }
    std::vector<std::string_view> symptoms() const override { return {}; }
    std::vector<Finding> examine(const results::Evidence&) const override {
        throw std::runtime_error("out of words");
    }
};

class Speaker final : public results::Detector {
public:
    std::string_view name() const override { return "speaker"; }
    std::vector<std::string_view> symptoms() const override { return {"device_fault_reported"}; }
    std::vector<Finding> examine(const results::Evidence&) const override {
        return {said("device_fault_reported", 1s)};
    }
};

TEST(Detect, HearsTheOthersWhenOneThrows) {
    results::Detectors detectors;
    detectors.push_back(std::make_unique<Thrower>());
    detectors.push_back(std::make_unique<Speaker>());
    const auto findings = results::detect(healthy(4), detectors);
    ASSERT_EQ(findings.size(), 2u);
    EXPECT_EQ(findings[0].symptom, "device_fault_reported");
    EXPECT_EQ(findings[1].symptom, "detector_crashed");
    EXPECT_TRUE(findings[1].detector_failed);
    EXPECT_FALSE(findings[0].detector_failed);
    EXPECT_EQ(findings[1].detector, "thrower");
    EXPECT_EQ(findings[1].says, "out of words");
}

}  // namespace
}  // namespace deadrank::tests
