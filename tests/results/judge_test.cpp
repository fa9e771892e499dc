// Goal: every outcome of the judge's vocabulary is reached by hand-made truth and findings, with a sentence
// that tells why, and nothing but the right finding about the right rank in time is a pass.
#include "results/judging/judge.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "results/judging/alarm.h"
#include "results/record/subject.h"
#include "tests/results/hand_made.h"

namespace deadrank::tests {
namespace {

using results::Finding;
using results::Judgement;
using results::Outcome;
using results::Verdict;
using testing::HasSubstr;

Judgement judged(const std::vector<Finding>& findings,
                 const scenarios::Expectation& expect = expect_hang_of_a_rank()) {
    return judge_fault(expect, truth_of_rank_3(), started(8), findings);
}

void expect_judgement(const Judgement& judgement, Verdict verdict, Outcome outcome,
                      const std::string& words) {
    EXPECT_EQ(name_of(judgement.verdict), name_of(verdict)) << judgement.reason;
    EXPECT_EQ(name_of(judgement.outcome), name_of(outcome)) << judgement.reason;
    EXPECT_THAT(judgement.reason, HasSubstr(words));
}

TEST(Judge, PassesTheRightFindingInTime) {
    const Judgement judgement = judged({hang_of({3}, 70s)});
    expect_judgement(judgement, Verdict::pass, Outcome::caught, "noticed 60.0 s after the fault");
    EXPECT_EQ(judgement.fault_at, 10s);
    EXPECT_EQ(judgement.noticed_at, 70s);
    EXPECT_EQ(judgement.answer, 0);
}

TEST(Judge, SaysHowLateALateFindingWas) {
    expect_judgement(judged({hang_of({3}, 70s + 1ns)}), Verdict::fail, Outcome::late, "1 ns too late");
    expect_judgement(judged({hang_of({3}, 85s)}), Verdict::fail, Outcome::late,
                     "15.0 s too late (60.0 s were allowed)");
}

TEST(Judge, SaysWhoWasBlamedInstead) {
    expect_judgement(judged({hang_of({5}, 40s)}), Verdict::fail, Outcome::wrong_rank,
                     "collective_hang blamed rank 5; it was rank 3");
    expect_judgement(judged({hang_of({3, 4}, 40s)}), Verdict::fail, Outcome::wrong_rank,
                     "ranks 3,4; it was rank 3");
    expect_judgement(judged({hang_of({}, 40s)}), Verdict::fail, Outcome::wrong_rank,
                     "names no rank; it was rank 3");
    expect_judgement(judged({hang_of({3}, 40s, 6)}), Verdict::fail, Outcome::wrong_rank,
                     "step 6; it was step 7");
}

TEST(Judge, LetsTheScenarioStateTheRankItself) {
    scenarios::Expectation expect = expect_hang_of_a_rank();
    expect.ranks = {5};
    expect_judgement(judged({hang_of({3}, 40s)}, expect), Verdict::fail, Outcome::wrong_rank,
                     "it was rank 5");
    expect.ranks = {3};
    expect.step = 9;
    expect_judgement(judged({hang_of({3}, 40s)}, expect), Verdict::fail, Outcome::wrong_rank,
                     "it was step 9");
}

// Goal: where the scenario names ranks, the node asked for is theirs and not that of all ranks with the
// fault.
TEST(Judge, TakesTheNodesOfTheRanksThatTheScenarioStates) {
    results::Truth truth = truth_of_rank_3();
    truth.marks[0].blame = {.ranks = {0, 1, 2, 3, 4, 5, 6, 7}, .nodes = {0, 1}};
    scenarios::Expectation expect = expect_hang_of_a_rank();
    expect.blames = {scenarios::BlameField::node};
    Finding said = hang_of({5, 6}, 40s);
    said.blame.nodes = {1};
    expect_judgement(judge_fault(expect, truth, started(8), {said}), Verdict::fail, Outcome::wrong_rank,
                     "nodes 0,1");
    expect.ranks = {4, 5, 6, 7};
    expect_judgement(judge_fault(expect, truth, started(8), {said}), Verdict::pass, Outcome::caught, "");
    expect.ranks = {3};
    expect_judgement(judge_fault(expect, truth, started(8), {said}), Verdict::fail, Outcome::wrong_rank,
                     "it was node 0");
}

// The first rank of a lost node ends the job, and the others have nothing to show.
TEST(Judge, SaysThatTheNodeIsRightWhereSomeOfItsRanksAreNamed) {
    results::Truth truth = truth_of_rank_3();
    truth.marks[0].blame = {.ranks = {2, 3}, .nodes = {0}};
    scenarios::Expectation expect = expect_hang_of_a_rank();
    expect.blames = {scenarios::BlameField::rank};
    const auto reason = [&](std::vector<results::Rank> ranks) {
        Finding finding = hang_of({}, 20s);
        finding.blame = {.ranks = std::move(ranks), .nodes = {0}};
        return judge_fault(expect, truth, started(8), {finding}).reason;
    };
    EXPECT_THAT(reason({2}), HasSubstr("node 0 is right: blames = [\"node\"]"));
    EXPECT_THAT(reason({1}), testing::Not(HasSubstr("is right")));
}

TEST(Judge, ComparesEveryFieldThatTheScenarioWantsNamed) {
    results::Truth truth = truth_of_rank_3();
    truth.marks[0].blame = {.ranks = {3},
                            .nodes = {0},
                            .step = 7,
                            .variable = "NCCL_SOCKET_IFNAME",
                            .component = "nccl",
                            .collective = "all_reduce",
                            .shard = "model-00003"};
    Finding right = hang_of({3}, 20s);
    right.blame = truth.marks[0].blame;
    for (const std::string& word : scenarios::list_words<scenarios::BlameField>()) {
        const auto field = scenarios::read_word<scenarios::BlameField>(word).value();
        scenarios::Expectation expect = expect_hang_of_a_rank();
        expect.blames = {field};
        EXPECT_EQ(judge_fault(expect, truth, started(8), {right}).outcome, Outcome::caught) << word;
        Finding wrong = right;
        wrong.blame = {.ranks = {1},
                       .nodes = {1},
                       .step = 1,
                       .variable = "RANK",
                       .component = "gpu",
                       .collective = "broadcast",
                       .shard = "model-00001"};
        EXPECT_EQ(judge_fault(expect, truth, started(8), {wrong}).outcome, Outcome::wrong_rank) << word;
        wrong.blame = {};
        EXPECT_EQ(judge_fault(expect, truth, started(8), {wrong}).outcome, Outcome::wrong_rank) << word;
    }
}

TEST(Judge, DoesNotCompareWhatTheTruthCannotName) {
    scenarios::Expectation expect = expect_hang_of_a_rank();
    expect.blames = {scenarios::BlameField::shard};
    expect_judgement(judged({hang_of({3}, 20s)}, expect), Verdict::unknown, Outcome::unjudged,
                     "the truth names none");
}

TEST(Judge, TellsAnotherClassFromSilence) {
    expect_judgement(judged({finding("straggler_step_time_skew", {3}, 20s)}), Verdict::fail,
                     Outcome::wrong_class, "said instead: straggler_step_time_skew about rank 3");
    expect_judgement(judged({}), Verdict::fail, Outcome::silent, "no detector noticed");
}

TEST(Judge, CallsFurtherFindingsNoiseUnlessTheScenarioExpectsThem) {
    scenarios::Expectation expect = expect_hang_of_a_rank();
    const std::vector<Finding> both = {hang_of({3}, 40s), finding("straggler_step_time_skew", {3}, 20s)};
    expect_judgement(judged(both, expect), Verdict::fail, Outcome::noisy,
                     "straggler_step_time_skew about rank 3");
    expect.also = {"straggler_step_time_skew"};
    expect_judgement(judged(both, expect), Verdict::pass, Outcome::caught, "");
    expect_judgement(judged({both[1]}, expect), Verdict::fail, Outcome::wrong_class,
                     "only said what `also` allows beside it: straggler_step_time_skew about rank 3");
}

// Goal: of one cause two symptoms may be seen first; either is caught, with the blame that the scenario asks
// for, and both together are no noise.
TEST(Judge, TakesAnyOfTheSymptomsThatTheScenarioNames) {
    scenarios::Expectation expect = expect_hang_of_a_rank();
    expect.alternatives = {"remote_peer_connection_error"};
    expect.blames = {scenarios::BlameField::rank};
    const Finding lost = finding("remote_peer_connection_error", {3}, 20s);
    expect_judgement(judged({lost}, expect), Verdict::pass, Outcome::caught, "");
    expect_judgement(judged({hang_of({3}, 40s)}, expect), Verdict::pass, Outcome::caught, "");
    expect_judgement(judged({hang_of({3}, 40s), lost}, expect), Verdict::pass, Outcome::caught, "");
    expect_judgement(judged({finding("remote_peer_connection_error", {5}, 20s)}, expect), Verdict::fail,
                     Outcome::wrong_rank, "it was rank 3");
    expect_judgement(judged({}, expect), Verdict::fail, Outcome::silent,
                     "collective_deadlock_hang or remote_peer_connection_error about rank 3 was expected");
}

TEST(Judge, CallsASecondFindingAboutSomebodyElseNoise) {
    expect_judgement(judged({hang_of({5}, 30s), hang_of({3}, 40s)}), Verdict::fail, Outcome::noisy,
                     "about rank 5");
}

TEST(Judge, DoesNotTakeAnAlarmFromBeforeTheFault) {
    expect_judgement(judged({hang_of({3}, 9s)}), Verdict::fail, Outcome::false_alarm, "before the fault");
}

TEST(Judge, DoesNotKnowWhenTheFaultNeverHappened) {
    results::Truth truth = truth_of_nothing(8);
    expect_judgement(judge_fault(expect_hang_of_a_rank(), truth, healthy(8), {}), Verdict::unknown,
                     Outcome::not_applied, "the fault never happened");
    truth.marks.push_back({0s, results::MarkKind::refused, 0, {}, "this backend has no lever drop_link"});
    expect_judgement(judge_fault(expect_hang_of_a_rank(), truth, healthy(8), {}), Verdict::unknown,
                     Outcome::not_applied, "no lever drop_link");
}

TEST(Judge, NeverPassesOverACrashedDetector) {
    Finding crash = finding("detector_crashed", {}, 20s);
    crash.detector_failed = true;
    crash.says = "index out of range";
    expect_judgement(judged({hang_of({3}, 40s), crash}), Verdict::unknown, Outcome::crashed,
                     "index out of range");
    const Judgement control = judge_control(truth_of_nothing(8), healthy(8), {crash});
    expect_judgement(control, Verdict::unknown, Outcome::crashed, "straggler crashed");
}

TEST(Judge, TakesSilenceWhereNothingCanShowTheBug) {
    scenarios::Expectation expect = expect_hang_of_a_rank();
    expect.unseen = "the value is never logged";
    expect_judgement(judged({}, expect), Verdict::pass, Outcome::as_unseen, "never logged");
    expect_judgement(judged({finding("straggler_step_time_skew", {3}, 20s)}, expect), Verdict::fail,
                     Outcome::wrong_class, "straggler");
}

TEST(Judge, FailsWhenTheJobDoesNotReactAsItShould) {
    scenarios::Expectation expect = expect_hang_of_a_rank();
    expect.reaction = scenarios::WantedReaction::clear_error;
    expect_judgement(judged({hang_of({3}, 40s)}, expect), Verdict::fail, Outcome::caught,
                     "it hung where it should end with an error that names the culprit");

    results::Evidence evidence = started(8);
    log_line(evidence, 12s, 0, 2, "[Rank 0] Watchdog caught collective operation timeout");
    exits(evidence, 13s, 8, 1);
    const Judgement vague = judge_fault(expect, truth_of_rank_3(), evidence, {hang_of({3}, 40s)});
    expect_judgement(vague, Verdict::fail, Outcome::caught, "no error text names rank 3");

    scenarios::Expectation of_nobody = expect;
    of_nobody.blames = {};
    const Judgement blank = judge_fault(of_nobody, truth_of_rank_3(), evidence, {hang_of({3}, 40s)});
    EXPECT_EQ(blank.reason.find("nobody"), std::string::npos) << blank.reason;

    log_line(evidence, 14s, results::no_rank, 2, "rank 3 exited with signal 9");
    const Judgement clear = judge_fault(expect, truth_of_rank_3(), evidence, {hang_of({3}, 40s)});
    expect_judgement(clear, Verdict::pass, Outcome::caught, "noticed");
}

TEST(Judge, SeesAWrongResultOnlyBesideTheControl) {
    scenarios::Expectation expect = expect_hang_of_a_rank();
    expect.reaction = scenarios::WantedReaction::complete;
    const auto run = [](std::uint64_t digest, std::chrono::seconds end = 10s) {
        results::Evidence evidence = started(8);
        evidence.record(event(3s, 0, results::ParametersDigest{.step = 0, .digest = digest}));
        exits(evidence, end, 8);
        return evidence;
    };
    results::Evidence wrong = run(1);
    const results::Evidence same = run(1, 9s), right = run(2);  // no run with a fault is its control
    const auto truth = truth_of_rank_3();
    EXPECT_EQ(judge_fault(expect, truth, wrong, {hang_of({3}, 40s)}).verdict, Verdict::pass);
    EXPECT_EQ(judge_fault(expect, truth, wrong, {hang_of({3}, 40s)}, &same).verdict, Verdict::pass);
    expect_judgement(judge_fault(expect, truth, wrong, {hang_of({3}, 40s)}, &right), Verdict::fail,
                     Outcome::caught, "with a wrong result");
}

TEST(Judge, BoundsHowLongTheJobMayTakeToRecover) {
    scenarios::Expectation expect = expect_hang_of_a_rank();
    expect.recovers_within = 20'000'000'000;
    const std::vector<Finding> right = {hang_of({3}, 40s)};
    expect_judgement(judged(right, expect), Verdict::fail, Outcome::caught, "it never was");
    results::Evidence evidence = started(8);
    exits(evidence, 31s, 8, 1);
    expect_judgement(judge_fault(expect, truth_of_rank_3(), evidence, right), Verdict::fail, Outcome::caught,
                     "it took 21.0 s");
    evidence.record(event(32s, results::no_rank, results::Restart{.attempt = 1}));
    evidence.record(event(33s, 0, results::StepEnd{.step = 7}));
    exits(evidence, 90s, 8);
    expect_judgement(judge_fault(expect, truth_of_rank_3(), evidence, right), Verdict::fail, Outcome::caught,
                     "it took 23.0 s");
    expect.recovers_within = 23'000'000'000;
    expect_judgement(judge_fault(expect, truth_of_rank_3(), evidence, right), Verdict::pass, Outcome::caught,
                     "");
}

TEST(JudgeQuiet, PassesOnlyAQuietRunThatFinished) {
    expect_judgement(judge_control(truth_of_nothing(8), healthy(8), {}), Verdict::pass, Outcome::quiet,
                     "quiet");
    expect_judgement(judge_control(truth_of_nothing(8), healthy(8), {hang_of({3}, 5s)}), Verdict::fail,
                     Outcome::false_alarm, "collective_deadlock_hang about rank 3");
    results::Truth stuck = truth_of_nothing(8);
    stuck.ends[2] = stuck.ends[3] = results::RankEnd::stuck;
    expect_judgement(judge_control(stuck, started(8), {}), Verdict::fail, Outcome::unfinished,
                     "rank 2,3 did not finish");
    expect_judgement(judge_control({}, started(8), {}), Verdict::fail, Outcome::unfinished, "");
}

// Goal: half a fault proves nothing, in whichever run it is; nor does half a run.
TEST(Judge, DoesNotKnowWhereALeverWasRefusedOrSomebodyStoppedTheRun) {
    const auto expect = expect_hang_of_a_rank();
    results::Truth truth = truth_of_rank_3();
    EXPECT_EQ(judge_fault(expect, truth, started(8), {hang_of({3}, 40s)}).verdict, Verdict::pass);
    truth.marks.push_back({11s, results::MarkKind::refused, 1, {}, "this backend has no lever drop_link"});
    for (const auto& findings : {std::vector<Finding>{hang_of({3}, 40s)}, std::vector<Finding>{}}) {
        for (const auto variant : {scenarios::Variant::fault, scenarios::Variant::healed}) {
            expect_judgement(judge_as(variant, expect, truth, started(8), findings), Verdict::unknown,
                             Outcome::not_applied,
                             "a fault was refused: this backend has no lever drop_link");
        }
    }
    results::Truth stopped = truth_of_rank_3();
    stopped.interrupted = true;
    expect_judgement(judge_fault(expect, stopped, started(8), {hang_of({3}, 40s)}), Verdict::unknown,
                     Outcome::unjudged, "it was stopped");
}

// Goal: a machine that kept the job from the processor makes the verdict unknown, not the job a hang.
TEST(Judge, DoesNotKnowWhetherAJobHungThatWasKeptFromTheProcessor) {
    scenarios::Expectation expect = expect_hang_of_a_rank();
    expect.reaction = scenarios::WantedReaction::clear_error;
    results::Truth truth = truth_of_rank_3();
    for (const bool kept : {false, true}) {
        results::Evidence evidence;
        const std::string lines = results::subject_lines({"ddp", "PyTorch DDP", "torch 2.11.0", 10s});
        evidence.record(event(0s, results::no_rank, results::JobStart{.what = evidence.text(lines)}));
        evidence.record(event(1s, 3, results::RankStart{}));
        log_line(evidence, 69s, 3, 2, "ValueError: the shape is wrong");
        evidence.record(event(70s, 3, results::RankExit{.code = 1}));
        evidence.finish(70s);
        if (kept) truth.waiting = {{11s, 0s}, {69s, 20s}};
        expect_judgement(judge_fault(expect, truth, evidence, {hang_of({3}, 40s)}),
                         kept ? Verdict::unknown : Verdict::fail, Outcome::caught,
                         kept ? "too slow for a verdict" : "it hung");
    }
}

// Goal: a healed run is held to what [heal.expect] says, and to silence where it says nothing.
TEST(JudgeHealed, IsHeldToItsOwnExpectation) {
    constexpr auto healed = scenarios::Variant::healed;
    results::Evidence evidence = started(8);
    log_line(evidence, 12s, 0, 2, "RuntimeError: rank 3 did not agree");
    exits(evidence, 13s, 8, 1);
    results::Truth stays = truth_of_rank_3();
    stays.ends.assign(8, results::RankEnd::failed);
    const std::vector<Finding> rings = {finding("framework_runtime_exception", {3}, 13s)};
    const scenarios::Expectation silent{.symptom = "", .reaction = scenarios::WantedReaction::complete};
    expect_judgement(judge_as(healed, silent, stays, evidence, {}), Verdict::fail, Outcome::unfinished,
                     "did not finish");
    expect_judgement(judge_as(healed, silent, stays, evidence, rings), Verdict::fail, Outcome::false_alarm,
                     "nothing was wrong");
    scenarios::Expectation ends = silent;
    ends.reaction = scenarios::WantedReaction::clear_error;
    expect_judgement(judge_as(healed, ends, stays, evidence, {}), Verdict::pass, Outcome::quiet, "quiet");
    ends.symptom = "framework_runtime_exception";
    ends.blames = {scenarios::BlameField::rank};
    ends.within = std::chrono::nanoseconds(5s).count();
    expect_judgement(judge_as(healed, ends, stays, evidence, rings), Verdict::pass, Outcome::caught, "");
    expect_judgement(
        judge_as(healed, ends, stays, evidence, {finding("framework_runtime_exception", {4}, 13s)}),
        Verdict::fail, Outcome::wrong_rank, "rank 4");
    ends.reaction = scenarios::WantedReaction::complete;
    expect_judgement(judge_as(healed, ends, stays, evidence, rings), Verdict::fail, Outcome::caught,
                     "where it should complete");
    ends.reaction = scenarios::WantedReaction::finish;
    expect_judgement(judge_as(healed, ends, stays, evidence, rings), Verdict::fail, Outcome::caught,
                     "where it should come to its end");
}

// Goal: `finish` takes whatever result a job ends with, and neither an error nor a hang.
TEST(Judge, FinishAsksForAnEndAlone) {
    using results::Grade;
    using results::Reaction;
    for (const Reaction ends : {Reaction::completed, Reaction::warned_and_completed, Reaction::restarted,
                                Reaction::silent_wrong_result, Reaction::not_checked})
        EXPECT_TRUE(results::meets_reaction(scenarios::WantedReaction::finish, Grade{.reaction = ends}))
            << name_of(ends);
    for (const Reaction fails : {Reaction::clear_error, Reaction::misleading_error, Reaction::wrong_rank,
                                 Reaction::refused_to_start, Reaction::hung})
        EXPECT_FALSE(results::meets_reaction(scenarios::WantedReaction::finish, Grade{.reaction = fails}))
            << name_of(fails);
}

// Goal: one fault may stop two groups or fill two hosts; findings about none but culprits count together.
TEST(Judge, PutsFindingsAboutPartsOfTheCulpritTogether) {
    results::Truth truth = truth_of_rank_3();
    truth.marks.front().blame.ranks = {3, 5};
    const auto expect = expect_hang_of_a_rank();
    const auto judged_two = [&](const std::vector<Finding>& findings) {
        return judge_fault(expect, truth, started(8), findings);
    };
    expect_judgement(judged_two({hang_of({3}, 40s), hang_of({5}, 41s)}), Verdict::pass, Outcome::caught, "");
    expect_judgement(judged_two({hang_of({3}, 40s)}), Verdict::fail, Outcome::wrong_rank, "");
    expect_judgement(judged_two({hang_of({3}, 40s), hang_of({4}, 41s)}), Verdict::fail, Outcome::wrong_rank,
                     "");
}

// Goal: a documented difference covers the healed run too, where the fault stays; nothing else does.
TEST(Judge, ExplainsTheHealedRunWithTheSameWords) {
    const Judgement wrong_class{.verdict = Verdict::fail, .outcome = Outcome::wrong_class};
    results::Case one{.documented = "this backend tells of a closed connection at once"};
    one.fault = wrong_class;
    one.control = judge_control(truth_of_nothing(8), healthy(8), {});
    one.healed = wrong_class;
    EXPECT_TRUE(one.differs_as_documented());
    one.healed->outcome = Outcome::false_alarm;
    EXPECT_FALSE(one.differs_as_documented());
    one.healed = {.verdict = Verdict::unknown, .outcome = Outcome::wrong_class};
    EXPECT_FALSE(one.differs_as_documented());
    one.healed = wrong_class;
    one.control->verdict = Verdict::fail;
    EXPECT_FALSE(one.differs_as_documented());
}

TEST(Judge, LetsTheWorstOfThreeRunsWin) {
    results::Case one;
    one.fault = judged({hang_of({3}, 40s)});
    one.control = judge_control(truth_of_nothing(8), healthy(8), {});
    one.healed = one.control;
    one.conclude();
    EXPECT_EQ(one.verdict, Verdict::pass);
    one.healed = judge_control(truth_of_nothing(8), healthy(8), {hang_of({3}, 5s)});
    one.conclude();
    EXPECT_EQ(one.verdict, Verdict::fail);
    EXPECT_THAT(one.reason, testing::StartsWith("healed: "));
    one.fault.reset();
    one.healed.reset();
    one.conclude();
    EXPECT_EQ(one.verdict, Verdict::unknown);
}

}  // namespace
}  // namespace deadrank::tests
