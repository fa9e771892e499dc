// Goal: how a job reacted is read from evidence alone, and a text counts as clear only if it names the right
// one.
#include <gtest/gtest.h>

#include "results/judging/resilience.h"
#include "tests/results/hand_made.h"

namespace deadrank::tests {
namespace {

using results::Blame;

std::string reaction(const results::Evidence& evidence) {
    return std::string(name_of(results::grade({.evidence = evidence}).reaction));
}

TEST(Reaction, IsCompletedWhenEveryRankLeftByItself) { EXPECT_EQ(reaction(healthy(4)), "completed"); }

// Processes 0 and 1 got each other's rank: each rank ends with the loss of the control.
TEST(Reaction, ComparesResultsOfRanksNotOfProcesses) {
    const auto ended = [](const std::string& first, const std::string& second, double loss_of_first,
                          double loss_of_second) {
        results::Evidence evidence;
        evidence.record(event(1s, 0, results::RankStart{.environment = evidence.text("RANK=" + first + "\nA=1")}));
        evidence.record(event(1s, 1, results::RankStart{.environment = evidence.text("A=1\nRANK=" + second)}));
        for (const results::Rank process : {0, 1}) {
            evidence.record(event(2s, process, results::StepBegin{.step = 0}));
            evidence.record(event(
                3s, process, results::StepEnd{.step = 0, .loss = process == 0 ? loss_of_first : loss_of_second}));
        }
        exits(evidence, 10s, 2);
        return evidence;
    };
    const auto control = ended("0", "1", 0.5, 0.25);
    const auto grade = [&](const results::Evidence& evidence) {
        return name_of(results::grade({.evidence = evidence, .control = &control}).reaction);
    };
    EXPECT_EQ(grade(ended("1", "0", 0.25, 0.5)), "completed");
    EXPECT_EQ(grade(ended("1", "0", 0.5, 0.25)), "silent_wrong_result");
}

TEST(Reaction, IsAWarningWhenOneWasPrintedOnTheWay) {
    results::Evidence evidence = started(4);
    log_line(evidence, 3s, 1, 1, "gradient overflow, skipping the step");
    exits(evidence, 10s, 4);
    EXPECT_EQ(reaction(evidence), "warned_and_completed");
}

TEST(Reaction, IsAHangWhenRanksNeverEnd) {
    EXPECT_EQ(reaction(started(4)), "hung");
    results::Evidence evidence = started(4);
    evidence.record(event(5s, 2, results::RankExit{.signal = 9}));
    EXPECT_EQ(reaction(evidence), "hung") << "three ranks of the same node never ended";
}

TEST(Reaction, IsNoHangWhenOnlyALostNodeIsMissing) {
    results::Evidence evidence = started(8);
    log_line(evidence, 5s, 0, 2, "connection closed by remote peer");
    for (int rank = 0; rank < 4; ++rank) evidence.record(event(6s, rank, results::RankExit{.code = 1}));
    EXPECT_EQ(reaction(evidence), "clear_error");
}

TEST(Reaction, IsAHangWhereOneHostRaisedAnErrorOfItsOwnAndOthersNeverEnd) {
    for (const bool of_a_peer : {false, true}) {
        results::Evidence evidence = started(8);
        const char* words =
            of_a_peer ? "RuntimeError: connection reset" : "FloatingPointError: invalid value";
        for (int rank = 0; rank < 4; ++rank) {
            log_line(evidence, 5s, rank, 2, words);
            evidence.record(event(6s, rank, results::RankExit{.code = 1}));
        }
        EXPECT_EQ(reaction(evidence) == "hung", !of_a_peer) << words;
        EXPECT_EQ(results::find_settled_time(evidence) == results::never, !of_a_peer) << words;
    }
}

TEST(Reaction, IsARefusalWhenTheErrorComesBeforeTheFirstStep) {
    results::Evidence evidence;
    evidence.record(event(1s, 0, results::RankStart{}));
    log_line(evidence, 2s, 0, 2, "ValueError: invalid literal for int() with base 10: ''");
    exits(evidence, 3s, 1, 1);
    EXPECT_EQ(reaction(evidence), "refused_to_start");
}

TEST(Reaction, IsMisleadingWhenTheJobEndsWithoutWords) {
    results::Evidence evidence = started(4);
    exits(evidence, 3s, 4, 1);
    EXPECT_EQ(reaction(evidence), "misleading_error");
}

TEST(Reaction, IsMisleadingWhenTheJobsCodeTellsOfNoFailure) {
    const auto ends_with = [](int code) {
        results::Evidence evidence = started(4);
        log_line(evidence, 3s, 2, 2, "RuntimeError: shape '[4]' is invalid for input of size 3");
        evidence.record(event(4s, 2, results::RankExit{.code = 1}));
        evidence.record(event(4s, results::no_rank, results::JobStop{.code = code}));
        return std::string(
            name_of(results::grade({.evidence = evidence, .culprit = {.ranks = {2}}}).reaction));
    };
    EXPECT_EQ(ends_with(1), "clear_error");
    EXPECT_EQ(ends_with(0), "misleading_error");
}

TEST(Reaction, IsARestartOnlyWhenTheSecondLifeEndsWell) {
    results::Evidence evidence = started(4);
    log_line(evidence, 3s, 1, 2, "killed");
    exits(evidence, 3s, 4, 1);
    evidence.record(event(4s, results::no_rank, results::Restart{.attempt = 1}));
    for (int rank = 0; rank < 4; ++rank) evidence.record(event(5s, rank, results::RankStart{}));
    EXPECT_EQ(reaction(evidence), "hung");
    exits(evidence, 9s, 4);
    EXPECT_EQ(reaction(evidence), "restarted");
}

// After these words everybody fails.
bool error_names(results::Evidence evidence, const Blame& culprit) {
    exits(evidence, 5s, 1, 1);
    const auto reaction = results::grade({.evidence = evidence, .culprit = culprit}).reaction;
    return reaction == results::Reaction::clear_error;
}

TEST(ErrorNames, WantsTheWholeNumberAndTheRightOne) {
    const auto words = [] {
        results::Evidence evidence = started(16);
        log_line(evidence, 3s, results::no_rank, 2, "rank 12 (local_rank: 4) exitcode: -9");
        return evidence;
    };
    EXPECT_TRUE(error_names(words(), {.ranks = {12}}));
    EXPECT_FALSE(error_names(words(), {.ranks = {1}}));
    EXPECT_FALSE(error_names(words(), {.ranks = {2}}));
    EXPECT_FALSE(error_names(words(), {.variable = "RANK_ZERO"}));
    EXPECT_TRUE(error_names(words(), {}));
    EXPECT_FALSE(error_names(started(4), {}));
    const auto spawned = [] {
        results::Evidence evidence = started(4);
        log_line(evidence, 3s, results::no_rank, 2, "-- Process 2 terminated with the following error:");
        return evidence;
    };
    EXPECT_TRUE(error_names(spawned(), {.ranks = {2}}));
    EXPECT_FALSE(error_names(spawned(), {.ranks = {0}}));
}

TEST(ErrorNames, TakesARanksOwnErrorButNotItsComplaintAboutOthers) {
    results::Evidence own = started(4);
    log_line(own, 3s, 2, 2, "RuntimeError: shape '[4]' is invalid for input of size 3");
    EXPECT_TRUE(error_names(std::move(own), {.ranks = {2}}));
    results::Evidence victim = started(4);
    log_line(victim, 3s, 2, 2, "Connection closed by remote peer");
    EXPECT_FALSE(error_names(std::move(victim), {.ranks = {2}}));
}

TEST(ErrorNames, FindsVariablesAndComponentsWhateverTheirCase) {
    const auto words = [] {
        results::Evidence evidence = started(4);
        log_line(evidence, 3s, 2, 2, "timeout: Invalid MASTER_PORT: 'abc'");
        return evidence;
    };
    EXPECT_TRUE(error_names(words(), {.ranks = {0}, .variable = "MASTER_PORT"}));
    EXPECT_FALSE(error_names(words(), {.ranks = {0}, .variable = "MASTER"}));
}

// Goal: who wants a clear error is not content with a refusal that leads nowhere.
TEST(Reaction, IsNoRefusalWhenItsErrorIsAboutSomethingElse) {
    for (const bool named : {false, true}) {
        results::Evidence evidence;
        evidence.record(event(1s, 0, results::RankStart{}));
        log_line(evidence, 2s, 0, 2, named ? "ValueError: MASTER_PORT is no number" : "connection timed out");
        exits(evidence, 3s, 1, 1);
        const auto job =
            results::grade({.evidence = evidence, .culprit = {.ranks = {1}, .variable = "MASTER_PORT"}});
        EXPECT_EQ(name_of(job.reaction), named ? "refused_to_start" : "misleading_error");
        EXPECT_EQ(meets_reaction(scenarios::WantedReaction::clear_error, job), named);
        EXPECT_TRUE(meets_reaction(scenarios::WantedReaction::refuse_to_start, job));
    }
}

// Goal: a warning or a restart on the way does not make another result the right one.
TEST(Reaction, IsAWrongResultHoweverTheJobCameToIt) {
    for (const bool restarts : {false, true}) {
        const auto run = [&](std::uint64_t digest) {
            results::Evidence evidence = started(2);
            if (restarts) evidence.record(event(3s, results::no_rank, results::Restart{.attempt = 1}));
            if (!restarts) log_line(evidence, 3s, 1, 1, "something looks odd");
            evidence.record(event(4s, 0, results::ServeOutput{.request = 7, .digest = digest}));
            exits(evidence, 5s, 2);
            return evidence;
        };
        const results::Evidence seen = run(1), same = run(1), other = run(2);
        EXPECT_EQ(name_of(results::grade({.evidence = seen, .control = &same}).reaction),
                  restarts ? "restarted" : "warned_and_completed");
        EXPECT_EQ(name_of(results::grade({.evidence = seen, .control = &other}).reaction),
                  "silent_wrong_result");
    }
}

// Rank 0 was killed in the barrier behind the last step, which rank 1 had ended. The job starts again, finds that step in
// its checkpoint and has nothing left to train. A job that gives up a step earlier has another result.
TEST(Reaction, IsARightResultWhereOnlyTheWordOfTheLastStepIsMissing) {
    const auto job = [](results::Rank ranks_of_last_step, std::vector<double> losses, bool restarts) {
        results::Evidence evidence = started(2);
        for (std::int64_t step = 0; step < std::ssize(losses); ++step)
            for (results::Rank rank = 0; rank < 2; ++rank)
                if (step + 1 < std::ssize(losses) || rank >= 2 - ranks_of_last_step)
                    evidence.record(event(3s + step * 1s, rank,
                                          results::StepEnd{.step = step, .loss = losses[static_cast<std::size_t>(step)]}));
        if (restarts) {
            evidence.record(event(6s, results::no_rank, results::Restart{.attempt = 1}));
            for (int rank = 0; rank < 2; ++rank) evidence.record(event(7s, rank, results::RankStart{}));
        }
        exits(evidence, 9s, 2);
        return evidence;
    };
    const results::Evidence control = job(2, {0.5, 0.25}, false);
    const auto grade = [&](const results::Evidence& evidence) {
        return name_of(results::grade({.evidence = evidence, .control = &control}).reaction);
    };
    EXPECT_EQ(grade(job(1, {0.5, 0.25}, true)), "restarted");
    EXPECT_EQ(grade(job(1, {0.75, 0.25}, true)), "silent_wrong_result");
    EXPECT_EQ(grade(job(2, {0.5}, true)), "silent_wrong_result");
    EXPECT_EQ(grade(job(1, {0.5, 0.25}, false)), "silent_wrong_result");
}

// Goal: no table has a word of its own for a reaction, nor a reaction without a word.
TEST(Reaction, HasOneWordInTheTableAndIsAsGoodAsIt) {
    for (int i = 0; i <= static_cast<int>(results::Reaction::not_checked); ++i) {
        const auto reaction = static_cast<results::Reaction>(i);
        EXPECT_EQ(is_good(reaction), is_good(results::table_word(reaction).reaction)) << name_of(reaction);
    }
}

// The disk was full, the thread that saves said nothing, and the job ended well: without any checkpoint.
TEST(Reaction, IsASilentWrongResultWhenNoCheckpointIsLeft) {
    const auto job = [](std::vector<std::pair<std::int32_t, results::Code>> shards) {
        results::Evidence evidence = started(2);
        for (const auto& [shard, code] : shards)
            evidence.record(event(
                5s, shard, results::CheckpointSave{.step = 8, .shard = shard, .shards = 2, .result = code}));
        exits(evidence, 10s, 2);
        return evidence;
    };
    const results::Evidence control = job({{0, results::Code::ok}, {1, results::Code::ok}});
    const auto of = [&](const results::Evidence& run) {
        return results::grade({.evidence = run, .control = &control});
    };
    EXPECT_EQ(of(job({{1, results::Code::ok}, {0, results::Code::ok}})).reaction,
              results::Reaction::completed);
    for (const auto& run : {job({}), job({{0, results::Code::ok}}),
                            job({{0, results::Code::ok}, {1, results::Code::invalid_usage}})}) {
        const results::Grade lost = of(run);
        EXPECT_EQ(lost.reaction, results::Reaction::silent_wrong_result);
        EXPECT_NE(lost.says.find("leaves no whole checkpoint"), std::string::npos) << lost.says;
    }
}

}  // namespace
}  // namespace deadrank::tests
