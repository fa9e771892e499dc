// tests/results/resilience_test.cpp — Goal: each way of standing a fault is told from the others, by words
// and results alone, and a lucky word does not make an error clear.
#include "results/judging/resilience.h"

#include <gtest/gtest.h>

#include "tests/results/hand_made.h"

namespace deadrank::tests {
namespace {

using results::Blame;
using results::Grade;
using results::Reaction;

const Blame rank_1{.ranks = {1}};

Grade graded(const results::Evidence& evidence, const Blame& culprit = rank_1,
             const results::Evidence* control = nullptr) {
    return results::grade(
        {.evidence = evidence, .control = control, .culprit = culprit, .fault_at = 3s, .timeout = 10s});
}

results::Evidence steps(double loss, std::uint64_t digest) {
    results::Evidence evidence = started(2);
    for (const results::Rank rank : {0, 1}) {
        evidence.record(event(4s, rank, results::StepEnd{.step = 0, .loss = loss}));
        evidence.record(event(
            4s, rank, results::ParametersDigest{.digest = digest, .name = evidence.text("parameters")}));
    }
    return evidence;
}

results::Evidence ended(results::Evidence evidence, results::Time at, int code = 0) {
    exits(evidence, at, 2, code);
    evidence.finish(at);
    return evidence;
}

void root_cause(results::Evidence& evidence, int rank) {
    log_line(evidence, 14s, results::no_rank, 0, "Root Cause (first observed failure):");
    log_line(evidence, 14s, results::no_rank, 2,
             "  rank      : " + std::to_string(rank) + " (local_rank: 0)");
    log_line(evidence, 14s, results::no_rank, 0, "  rank      : 9 (local_rank: 9)");
}

TEST(Resilience, TellsAResultFromTheRightOne) {
    const results::Evidence right = ended(steps(0.5, 7), 5s);
    EXPECT_EQ(graded(ended(steps(0.5, 7), 5s), rank_1, &right).reaction, Reaction::completed);
    const auto loss = graded(ended(steps(0.25, 7), 5s), rank_1, &right);
    EXPECT_EQ(loss.reaction, Reaction::silent_wrong_result);
    EXPECT_EQ(loss.says, "rank 0 ends with a loss of 0.25 where 0.5 was right");
    EXPECT_EQ(graded(ended(steps(0.50000002, 7), 5s), rank_1, &right).says,
              "rank 0 ends with a loss of 0.50000002 where 0.5 was right");
    EXPECT_EQ(graded(ended(steps(0.5, 8), 5s), rank_1, &right).reaction, Reaction::silent_wrong_result);
}

// Goal: who trained with which share is nobody's loss; that a sample was seen twice is.
TEST(Resilience, AsksWhatAStepWasTrainedWithAndNotByWhom) {
    const auto seen = [](const char* of_rank_0, const char* of_rank_1) {
        results::Evidence evidence = steps(0.5, 7);
        for (const auto& [rank, samples] : {std::pair(0, of_rank_0), std::pair(1, of_rank_1)})
            evidence.record(
                event(4s, rank, results::DataBatch{.step = 0, .samples = evidence.text(samples)}));
        return ended(std::move(evidence), 5s);
    };
    const results::Evidence right = seen("1,2", "3,4");
    EXPECT_EQ(graded(seen("3,4", "1,2"), rank_1, &right).reaction, Reaction::completed);
    const auto twice = graded(seen("1,2", "1,2"), rank_1, &right);
    EXPECT_EQ(twice.reaction, Reaction::silent_wrong_result);
    EXPECT_EQ(twice.says, "step 0 was trained with other samples than the control's");
}

// Goal: a wrong result by a setting that differs per rank breaks a promise only where there is one; of any
// other bug it does, promise or none, and so does an error.
TEST(Resilience, AccusesNobodyOfWhatNobodyPromised) {
    const auto played = [](std::uint64_t digest, std::set<std::string> compares, int code = 0) {
        results::Record record;
        results::Evidence& evidence = record.evidence;
        const std::string lines = results::subject_lines({"mine", "Mine", "", 10s, "", std::move(compares)});
        evidence.record(event(0s, results::no_rank, results::JobStart{.what = evidence.text(lines)}));
        for (const results::Rank rank : {0, 1}) {
            evidence.record(event(1s, rank, results::RankStart{.pid = 1000 + rank}));
            evidence.record(event(
                4s, rank, results::ParametersDigest{.digest = digest, .name = evidence.text("parameters")}));
        }
        exits(evidence, 5s, 2, code);
        evidence.finish(5s);
        return record;
    };
    const results::Record right = played(7, {});
    const auto reaction = [&](const results::Record& run, const std::string& per_rank) {
        return results::grade(run, &right.evidence, rank_1, per_rank).reaction;
    };
    EXPECT_EQ(reaction(played(8, {}), "optimizer.learning_rate"), Reaction::not_checked);
    EXPECT_EQ(reaction(played(8, {"sampler.seed"}), "optimizer.learning_rate"), Reaction::not_checked);
    EXPECT_EQ(reaction(played(8, {"sampler.seed", "optimizer.learning_rate"}), "optimizer.learning_rate"),
              Reaction::silent_wrong_result);
    EXPECT_EQ(reaction(played(8, {}), ""), Reaction::silent_wrong_result);
    EXPECT_EQ(reaction(played(7, {}), "optimizer.learning_rate"), Reaction::completed);
    EXPECT_TRUE(ended_with_error(reaction(played(8, {}, 1), "optimizer.learning_rate")));
}

TEST(Resilience, IsNotToldWithoutAControl) {
    const results::Evidence evidence = ended(steps(0.5, 7), 5s);
    EXPECT_EQ(results::grade({.evidence = evidence, .culprit = rank_1, .fault_at = 3s}).untold,
              "there is no control to compare with");
}

TEST(Resilience, CallsARestartRecoveredOnlyWithTheSameResult) {
    const results::Evidence right = ended(steps(0.5, 7), 5s);
    for (const double loss : {0.5, 0.4}) {
        results::Evidence evidence = started(2);
        evidence.record(event(3s, results::no_rank, results::Restart{.attempt = 1}));
        for (const results::Rank rank : {0, 1}) {
            evidence.record(event(4s, rank, results::StepEnd{.step = 0, .loss = loss}));
            evidence.record(
                event(4s, rank, results::ParametersDigest{.digest = 7, .name = evidence.text("parameters")}));
        }
        const auto found = graded(ended(std::move(evidence), 6s), rank_1, &right);
        EXPECT_EQ(found.reaction, loss == 0.5 ? Reaction::restarted : Reaction::silent_wrong_result);
    }
}

TEST(Resilience, CallsAJobThatNeverEndsAHangAndSaysHowLong) {
    results::Evidence evidence = steps(0.5, 7);
    evidence.finish(70s);
    const auto found = graded(evidence);
    EXPECT_EQ(found.reaction, Reaction::hung);
    EXPECT_EQ(found.took, 66s);
    EXPECT_EQ(found.says, "watched for 66.0 s without a step, 6.6 times its time-out of 10.0 s");
}

TEST(Resilience, CallsAnErrorTooLateAHangAsWell) {
    results::Evidence evidence = steps(0.5, 7);
    log_line(evidence, 54s, 1, 2, "ValueError: the shape is wrong");
    EXPECT_EQ(graded(ended(std::move(evidence), 55s, 1)).reaction, Reaction::hung);
    results::Evidence soon = steps(0.5, 7);
    log_line(soon, 53s, 1, 2, "ValueError: the shape is wrong");
    EXPECT_EQ(graded(ended(std::move(soon), 54s, 1)).reaction, Reaction::clear_error) << "exactly five times";
}

// Goal: the launcher's own patience with a rank that does not answer makes no hang of an error.
TEST(Resilience, CountsNoWaitOfTheLauncherForASilence) {
    for (const bool noticed : {false, true}) {
        results::Evidence evidence = steps(0.5, 7);
        log_line(evidence, 24s, 1, 2, "ValueError: the shape is wrong");
        if (noticed) log_line(evidence, 25s, results::no_rank, 1, "Sending process 7 closing signal SIGTERM");
        const auto found = graded(ended(std::move(evidence), 55s, 1));
        EXPECT_EQ(found.reaction, noticed ? Reaction::clear_error : Reaction::hung) << found.says;
    }
    results::Evidence late = steps(0.5, 7);
    log_line(late, 25s, results::no_rank, 1, "Sending process 7 closing signal SIGTERM");
    EXPECT_EQ(graded(ended(std::move(late), 95s, 1)).reaction, Reaction::hung) << "30 s, and no more";
}

TEST(Resilience, TakesTheCulpritsOwnErrorForClear) {
    results::Evidence evidence = started(2);
    log_line(evidence, 4s, 1, 2, "[rank1]: ValueError: the shape is wrong");
    const auto found = graded(ended(std::move(evidence), 5s, 1));
    EXPECT_EQ(found.reaction, Reaction::clear_error);
    EXPECT_EQ(found.took, 2s);
}

TEST(Resilience, DoesNotTakeATracebackOrAVictimsWordsForClear) {
    results::Evidence evidence = started(2);
    log_line(evidence, 4s, 1, 2, "[rank1]: Traceback (most recent call last):");
    log_line(evidence, 4s, 1, 2, "[rank1]: RuntimeError: Timed out waiting 10000ms for recv");
    log_line(evidence, 4s, 0, 2, "[rank0]: RuntimeError: Connection closed by peer [127.0.0.1]:4711");
    EXPECT_EQ(graded(ended(std::move(evidence), 5s, 1)).reaction, Reaction::misleading_error);
}

TEST(Resilience, SeesWhomTheLauncherBlames) {
    for (const int blamed : {0, 1}) {
        results::Evidence evidence = started(2);
        log_line(evidence, 13s, 0, 2, "RuntimeError: Timed out waiting 10000ms for recv");
        root_cause(evidence, blamed);
        log_line(evidence, 14s, results::no_rank, 2, "  traceback : Signal 9 (SIGKILL) received by PID 7");
        const auto found = graded(ended(std::move(evidence), 15s, 1));
        EXPECT_EQ(found.reaction, blamed == 0 ? Reaction::wrong_rank : Reaction::clear_error) << found.says;
    }
}

TEST(Resilience, FollowsTheBlamedOneToWhomItPoints) {
    results::Evidence evidence = started(2);
    log_line(
        evidence, 4s, 0, 2,
        "RuntimeError: Detected mismatch between collectives on ranks. Rank 0 is running …, but Rank 1 is "
        "running …");
    root_cause(evidence, 0);
    EXPECT_EQ(graded(ended(std::move(evidence), 15s, 1)).reaction, Reaction::clear_error);
}

TEST(Resilience, TakesTheNameOfTheVariableForTheCause) {
    const Blame variable{.ranks = {0, 1}, .variable = "MASTER_PORT"};
    results::Evidence evidence = started(2);
    log_line(evidence, 4s, 0, 2, "ValueError: MASTER_PORT is no number");
    EXPECT_EQ(graded(ended(std::move(evidence), 5s, 1), variable).reaction, Reaction::clear_error);
    results::Evidence other = started(2);
    log_line(other, 4s, 0, 2, "ValueError: invalid literal for int()");
    root_cause(other, 0);
    const auto found = graded(ended(std::move(other), 5s, 1), {.ranks = {1}, .variable = "MASTER_PORT"});
    EXPECT_EQ(found.reaction, Reaction::wrong_rank);
}

// Goal: "a rank failed" names no variable RANK, and what we say of the job's end is no word of a framework.
TEST(Resilience, TakesRankForTheVariableOnlyAsItIsSpelled) {
    for (const bool named : {false, true}) {
        results::Evidence evidence = started(2);
        log_line(
            evidence, 4s, 0, 2,
            named ? "ValueError: RANK is taken twice" : "RuntimeError: a rank failed, connection closed");
        exits(evidence, 5s, 2, 1);
        evidence.record(
            event(5s, results::no_rank, results::JobStop{.code = 1, .reason = evidence.text("RANK")}));
        evidence.finish(5s);
        const auto found = graded(evidence, {.ranks = {1}, .variable = "RANK"});
        EXPECT_EQ(found.reaction, named ? Reaction::clear_error : Reaction::misleading_error) << found.says;
    }
}

// Goal: of an error and the frames of its traceback, the error is quoted.
TEST(Resilience, QuotesNoFrameOfATraceback) {
    results::Evidence evidence = started(2);
    log_line(evidence, 4s, 0, 2, "frame #0: c10::Error::Error(c10::SourceLocation, std::string) + 0x9d");
    log_line(evidence, 4s, 0, 2, "RuntimeError: Connection reset by peer");
    const auto found = graded(ended(std::move(evidence), 5s, 1));
    EXPECT_EQ(found.says, "rank 0: RuntimeError: Connection reset by peer");
}

// Goal: a job that was kept from the processor is not called a hang for the seconds that it was kept; one
// that waited for nobody but its peers is, on a busy machine too.
TEST(Resilience, TellsNothingWhereTheProcessorWasMissing) {
    const auto told = [](results::Time kept_waiting, bool end) {
        results::Evidence evidence = steps(0.5, 7);
        log_line(evidence, 54s, 1, 2, "ValueError: the shape is wrong");
        if (end) evidence = ended(std::move(evidence), 58s, 1);
        if (!end) evidence.finish(58s);
        return results::grade({.evidence = evidence,
                               .culprit = rank_1,
                               .fault_at = 3s,
                               .timeout = 10s,
                               .waiting = {{2s, 9s}, {30s, 9s + kept_waiting}}});
    };
    for (const bool end : {true, false}) {
        EXPECT_EQ(told(4s, end).untold, "this machine was too slow for a verdict");
        EXPECT_EQ(told(3s, end).untold, "");
        EXPECT_EQ(told(3s, end).reaction, Reaction::hung) << "54 s of silence less 3 s are more than 50 s";
    }
}

TEST(Waiting, IsCountedFromTheLookBeforeToTheLookAfter) {
    const results::Waiting waiting = {{1s, 2s}, {2s, 3s}, {3s, 7s}};
    EXPECT_EQ(results::waited_between(waiting, 0s, 9s), 7s);
    EXPECT_EQ(results::waited_between(waiting, 1500ms, 2500ms), 5s);
    EXPECT_EQ(results::waited_between(waiting, 2s, 2500ms), 4s);
    EXPECT_EQ(results::waited_between(waiting, 3s, 9s), 0s);
    EXPECT_EQ(results::waited_between({}, 0s, 9s), 0s);
}

// Goal: a signal that a rank died of is told by the launcher, SIGTERM as well; the others' SIGTERM is not.
TEST(Resilience, SeesTheSignalOfTheRootCauseOnly) {
    for (const int blamed : {0, 1}) {
        results::Evidence evidence = started(2);
        root_cause(evidence, blamed);
        log_line(evidence, 14s, results::no_rank, 2, "  traceback : Signal 15 (SIGTERM) received by PID 7");
        const auto found = graded(ended(std::move(evidence), 15s, 1));
        EXPECT_EQ(found.reaction, blamed == 1 ? Reaction::clear_error : Reaction::wrong_rank) << found.says;
    }
}

// Goal: a damaged file that ended everybody is named, or the error was none that helps.
TEST(Resilience, WantsTheFilesNamedWhereStorageIsToBlame) {
    const Blame storage{.ranks = {0, 1}, .component = "storage"};
    const std::pair<const char*, Reaction> words[] = {
        {"OSError: [Errno 22] Invalid argument", Reaction::misleading_error},
        {"RuntimeError: failed finding central directory … your checkpoint file is corrupted.",
         Reaction::clear_error},
        {"OSError: [Errno 28] No space left on device: 'x.pt'", Reaction::clear_error}};
    for (const auto& [line, reaction] : words) {
        results::Evidence evidence = started(2);
        log_line(evidence, 4s, 1, 2, line);
        EXPECT_EQ(graded(ended(std::move(evidence), 5s, 1), storage).reaction, reaction) << line;
    }
}

// Goal: the name of a class holds the name of its package, and blames nobody with it.
TEST(Resilience, DoesNotTakeAModulesNameForThePart) {
    for (const bool named : {false, true}) {
        results::Evidence evidence = started(2);
        log_line(evidence, 4s, 0, 2,
                 named ? "RuntimeError: torch 1.13 meets torch 2.11"
                       : "torch.distributed.DistStoreError: Timed out, /site-packages/torch/nn.py, a.torch");
        const auto found = graded(ended(std::move(evidence), 5s, 1), {.ranks = {1}, .component = "torch"});
        EXPECT_EQ(found.reaction, named ? Reaction::clear_error : Reaction::misleading_error);
    }
}

TEST(Subject, IsReadBackFromWhatTheJobSaidOfItself) {
    results::Evidence evidence;
    const std::string lines = results::subject_lines(
        {"ddp", "PyTorch DDP", "torch 2.11.0", 10s, "DETAIL", {"model.seed", "HIDDEN_SIZE"}});
    evidence.record(event(0s, results::no_rank, results::JobStart{.what = evidence.text(lines)}));
    const results::Subject subject = results::subject_of(evidence);
    EXPECT_EQ(subject.name, "ddp");
    EXPECT_EQ(subject.framework, "PyTorch DDP");
    EXPECT_EQ(subject.version, "torch 2.11.0");
    EXPECT_EQ(subject.timeout, 10s);
    EXPECT_EQ(subject.debug, "DETAIL");
    EXPECT_EQ(subject.compares, (std::set<std::string>{"HIDDEN_SIZE", "model.seed"}));
    EXPECT_EQ(results::subject_of(started(2)).name, "");
}

// Goal: a machine that needs a minute to load the framework makes no hang of a clear error.
TEST(Resilience, CountsNoSilenceBeforeARankComesToTheRendezvous) {
    results::Evidence evidence = started(2);
    evidence.record(event(60s, 0, results::RendezvousEnter{}));
    log_line(evidence, 61s, 1, 2, "ValueError: environment variable RANK expected, but not set");
    const auto found = graded(ended(std::move(evidence), 62s, 1), {.ranks = {1}, .variable = "RANK"});
    EXPECT_EQ(found.reaction, Reaction::clear_error) << found.says;
}

}  // namespace
}  // namespace deadrank::tests
