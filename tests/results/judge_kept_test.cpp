// tests/results/judge_kept_test.cpp — Goal: the error of a process that a fault ends only to provoke the
// bug is no false alarm, in the faulty run and in a healed one that keeps it; all else that rings is one.
#include <gtest/gtest.h>

#include "results/judging/judge.h"
#include "tests/results/hand_made.h"

namespace deadrank::tests {
namespace {

using results::Finding;
using results::Outcome;

struct Kept {
    std::string kind = "exit_rank";
    bool provokes = true;
    std::string bug = "restart_or_recovery_failure";
    scenarios::Variant variant = scenarios::Variant::healed;
    std::vector<std::string> also = {};
};

Outcome outcome_of(const Finding& finding, const Kept& kept = {}) {
    scenarios::Plan plan;
    plan.variant = kept.variant;
    plan.expect.reaction = scenarios::WantedReaction::any;
    plan.expect.also = kept.also;
    plan.bug.symptom = kept.bug;
    plan.faults.push_back({.kind = kept.kind, .provokes = kept.provokes});
    plan.faults.front().parameters["rank"].list = {3};
    results::Record record;
    record.evidence = healthy(8);
    record.truth = truth_of_nothing(8);
    record.truth.marks.push_back({.at = 5s, .kind = results::MarkKind::applied, .fault = 0});
    return results::judge(plan, record, {finding}, nullptr).outcome;
}

TEST(JudgeHealed, TakesTheErrorOfAProcessThatAKeptFaultEndsForNoAlarm) {
    const std::string exception = "framework_runtime_exception";
    const Finding own = finding(exception, {3}, 5s);
    EXPECT_EQ(outcome_of(own), Outcome::quiet);
    EXPECT_EQ(outcome_of(finding("native_crash_or_illegal_access", {3}, 5500ms)), Outcome::quiet);
    EXPECT_EQ(outcome_of(own, {.kind = "kill_rank"}), Outcome::quiet);

    EXPECT_EQ(outcome_of(finding(exception, {4}, 5s)), Outcome::false_alarm);
    EXPECT_EQ(outcome_of(finding(exception, {3, 4}, 5s)), Outcome::false_alarm);
    EXPECT_EQ(outcome_of(finding(exception, {}, 5s)), Outcome::false_alarm);
    EXPECT_EQ(outcome_of(finding(exception, {3}, 4s)), Outcome::false_alarm);
    EXPECT_EQ(outcome_of(finding(exception, {3}, 7s)), Outcome::false_alarm);
    EXPECT_EQ(outcome_of(finding("collective_deadlock_hang", {3}, 5s)), Outcome::false_alarm);
    EXPECT_EQ(outcome_of(own, {.provokes = false}), Outcome::false_alarm);
    EXPECT_EQ(outcome_of(own, {.kind = "raise_exception"}), Outcome::false_alarm);
    EXPECT_EQ(outcome_of(own, {.bug = exception}), Outcome::false_alarm);
    EXPECT_EQ(outcome_of(own, {.variant = scenarios::Variant::control}), Outcome::false_alarm);
}

// Goal: the same holds for all ranks of a node that a fault loses.
TEST(JudgeHealed, TakesTheErrorThatALostNodeBringsToItsPeersForNoAlarm) {
    const auto outcome = [](const Finding& one, bool provokes) {
        scenarios::Plan plan;
        plan.variant = scenarios::Variant::healed;
        plan.expect.reaction = scenarios::WantedReaction::any;
        plan.bug.symptom = "resume_state_regression";
        plan.faults.push_back({.kind = "lose_node", .provokes = provokes});
        results::Record record;
        record.evidence = healthy(8);
        record.truth = truth_of_nothing(8);
        record.truth.marks.push_back({.at = 5s, .kind = results::MarkKind::applied, .fault = 0});
        record.truth.marks.back().blame.ranks = {4, 5, 6, 7};
        return results::judge(plan, record, {one}, nullptr).outcome;
    };
    const std::string lost = "remote_peer_connection_error";
    EXPECT_EQ(outcome(finding(lost, {4, 5, 6, 7}, 5s), true), Outcome::quiet);
    EXPECT_EQ(outcome(finding(lost, {4, 5, 6, 7}, 5s), false), Outcome::false_alarm);
    EXPECT_EQ(outcome(finding(lost, {3, 4}, 5s), true), Outcome::false_alarm);
    EXPECT_EQ(outcome(finding("restart_or_recovery_failure", {4, 5, 6, 7}, 5s), true), Outcome::false_alarm);
}

// Goal: what [heal.expect] allows beside silence is no false alarm of a healed run, and is one of a control.
TEST(JudgeHealed, AllowsWhatItsExpectationHasAlso) {
    const Finding late = finding("straggler_step_time_skew", {4}, 5s);
    EXPECT_EQ(outcome_of(late), Outcome::false_alarm);
    EXPECT_EQ(outcome_of(late, {.also = {"straggler_step_time_skew"}}), Outcome::quiet);
    EXPECT_EQ(outcome_of(late, {.also = {"collective_deadlock_hang"}}), Outcome::false_alarm);
    EXPECT_EQ(
        outcome_of(late, {.variant = scenarios::Variant::control, .also = {"straggler_step_time_skew"}}),
        Outcome::false_alarm);
}

// Goal: the faulty run forgives the same, and it is no answer there.
TEST(JudgeFault, TakesTheErrorOfAProcessThatAFaultEndsToProvokeForNoFalseAlarm) {
    const std::string exception = "framework_runtime_exception";
    const auto outcome = [](const std::vector<Finding>& findings, bool provokes = true) {
        scenarios::Plan plan;
        plan.expect = {.symptom = "resume_state_regression"};
        plan.bug.symptom = plan.expect.symptom;
        plan.faults.push_back({.kind = "kill_rank", .provokes = provokes});
        plan.faults.front().parameters["rank"].list = {3};
        results::Record record;
        record.evidence = healthy(8);
        record.truth = truth_of_nothing(8);
        record.truth.marks.push_back({.at = 5s, .kind = results::MarkKind::applied, .fault = 0});
        return results::judge(plan, record, findings, nullptr);
    };
    const Finding own = finding(exception, {3}, 5s), bug = finding("resume_state_regression", {}, 9s);
    EXPECT_EQ(outcome({own, bug}).outcome, Outcome::caught);
    EXPECT_EQ(outcome({own, bug}).answer, 1);
    EXPECT_EQ(outcome({own, bug}, false).outcome, Outcome::noisy);
    EXPECT_EQ(outcome({finding(exception, {4}, 5s), bug}).outcome, Outcome::noisy);
    EXPECT_EQ(outcome({own}).outcome, Outcome::wrong_class);
}

// Goal: where the bug is that the others are never told of an error, the standstill behind it answers, and a
// healed run that still has it is not healed.
TEST(JudgeFault, FindsTheStandstillThatFollowsFromAnError) {
    Finding error = finding("framework_runtime_exception", {3}, 5s);
    const auto outcome = [&](const std::string& symptom) {
        scenarios::Plan plan;
        plan.expect = {.symptom = symptom,
                       .blames = {scenarios::BlameField::rank},
                       .reaction = scenarios::WantedReaction::any};
        plan.faults.push_back({.kind = "bend_value"});
        results::Record record;
        record.evidence = healthy(8);
        record.truth = truth_of_nothing(8);
        record.truth.marks.push_back({.at = 5s, .kind = results::MarkKind::applied, .fault = 0});
        record.truth.marks.back().blame.ranks = {3};
        return results::judge(plan, record, {error}, nullptr).outcome;
    };
    EXPECT_EQ(outcome("collective_deadlock_hang"), Outcome::wrong_class);
    error.followed_by = {finding("collective_deadlock_hang", {3}, 65s)};
    EXPECT_EQ(outcome("collective_deadlock_hang"), Outcome::caught);
    EXPECT_EQ(outcome("framework_runtime_exception"), Outcome::caught);
    EXPECT_EQ(outcome("collective_timeout_abort"), Outcome::wrong_class);
    error.followed_by.front().blame.ranks = {4};
    EXPECT_EQ(outcome("collective_deadlock_hang"), Outcome::wrong_rank);
    EXPECT_EQ(outcome_of(error), Outcome::false_alarm);
}

}  // namespace
}  // namespace deadrank::tests
