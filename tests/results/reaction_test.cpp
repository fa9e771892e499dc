// Goal: how a job reacted is read from evidence alone, and a text counts as clear only if it names the right
// one.
#include "results/judging/reaction.h"

#include <gtest/gtest.h>

#include "tests/results/hand_made.h"

namespace deadrank::tests {
namespace {

using results::error_names;
using results::reaction_of;

std::string reaction(const results::Evidence& evidence) {
    return std::string(name_of(reaction_of(evidence)));
}

TEST(Reaction, IsCompletedWhenEveryRankLeftByItself) { EXPECT_EQ(reaction(healthy(4)), "completed"); }

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

TEST(ErrorNames, WantsTheWholeNumberAndTheRightOne) {
    results::Evidence evidence = started(16);
    log_line(evidence, 3s, results::no_rank, 2, "rank 12 (local_rank: 4) exitcode: -9");
    EXPECT_TRUE(error_names(evidence, {.ranks = {12}}));
    EXPECT_FALSE(error_names(evidence, {.ranks = {1}}));
    EXPECT_FALSE(error_names(evidence, {.ranks = {2}}));
    EXPECT_FALSE(error_names(evidence, {.variable = "RANK_ZERO"}));
    EXPECT_TRUE(error_names(evidence, {}));
    EXPECT_FALSE(error_names(started(4), {}));
}

TEST(ErrorNames, TakesARanksOwnErrorButNotItsComplaintAboutOthers) {
    results::Evidence own = started(4);
    log_line(own, 3s, 2, 2, "RuntimeError: shape '[4]' is invalid for input of size 3");
    EXPECT_TRUE(error_names(own, {.ranks = {2}}));
    results::Evidence victim = started(4);
    log_line(victim, 3s, 2, 2, "Connection closed by remote peer");
    EXPECT_FALSE(error_names(victim, {.ranks = {2}}));
}

TEST(ErrorNames, FindsVariablesAndComponentsWhateverTheirCase) {
    results::Evidence evidence = started(4);
    log_line(evidence, 3s, 2, 2, "timeout: Invalid MASTER_PORT: 'abc'");
    EXPECT_TRUE(error_names(evidence, {.ranks = {0}, .variable = "MASTER_PORT"}));
    EXPECT_FALSE(error_names(evidence, {.ranks = {0}, .variable = "MASTER"}));
}

}  // namespace
}  // namespace deadrank::tests
