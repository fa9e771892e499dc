// tests/runners/campaign/ledger_test.cpp — The SQLite file of a campaign, and the rows in it.
// Goal: rows come out in order whatever the order they came in, what was committed outlives a kill, and a
// file of another campaign is refused.
#include "runners/campaign/ledger.h"

#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

namespace deadrank::runners::campaign {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

class CampaignLedger : public testing::Test {
protected:
    CampaignLedger() { fs::create_directories(place_); }
    ~CampaignLedger() override { fs::remove_all(place_); }

    static Answer answer(std::uint64_t number, results::Verdict verdict = results::Verdict::pass) {
        return {.number = number,
                .scenario = "communication/x",
                .seed = number + 1,
                .verdict = verdict,
                .reason = "because of it's \"quotes\"",
                .findings = "[]",
                .token = "dr1",
                .seconds = 0.25};
    }
    Totals totals_of(const std::string& name, const std::vector<Answer>& answers) const {
        auto ledger = Ledger::open(place_ / name, "one");
        for (const Answer& one : answers) EXPECT_TRUE(ledger->put(one, 0));
        return *ledger->totals();
    }

    fs::path place_ = fs::path(testing::TempDir()) / ("deadrank_ledger_" + std::to_string(getpid()));
};

TEST_F(CampaignLedger, OrderOfArrivalAndWallTimeChangeNoAnswer) {
    Answer slower = answer(2, results::Verdict::fail);
    slower.seconds = 9;
    const Totals one = totals_of("a", {answer(0), answer(1), answer(2, results::Verdict::fail)});
    const Totals other = totals_of("b", {slower, answer(0), answer(1)});
    EXPECT_EQ(one.digest, other.digest);
    EXPECT_EQ(one.trials, 3u);
    EXPECT_EQ(one.failed, 1u);
    ASSERT_EQ(one.notable.size(), 1u);
    EXPECT_EQ(one.notable.front().seed, 3u);
    EXPECT_NE(one.digest, totals_of("c", {answer(0), answer(1), answer(2)}).digest);
}

TEST_F(CampaignLedger, WhatWasCommittedOutlivesAKill) {
    const pid_t child = fork();
    if (child == 0) {
        auto ledger = Ledger::open(place_ / "a", "one");
        (void)ledger->put(answer(4), 0);
        (void)ledger->commit();
        (void)ledger->put(answer(5), 0);
        raise(SIGKILL);
    }
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status));
    auto ledger = Ledger::open(place_ / "a", "one");
    ASSERT_TRUE(ledger) << ledger.error().text();
    const std::vector<bool> known = *ledger->known(6);
    EXPECT_TRUE(known[4]);
    EXPECT_FALSE(known[5]);
}

TEST_F(CampaignLedger, AFileOfAnotherCampaignIsRefused) {
    { ASSERT_TRUE(Ledger::open(place_ / "a", "seeds 1..3")); }
    const auto other = Ledger::open(place_ / "a", "seeds 1..4");
    ASSERT_FALSE(other);
    EXPECT_THAT(other.error().text(), HasSubstr("seeds 1..3"));
}

TEST_F(CampaignLedger, AFileThatIsNoDatabaseIsRefused) {
    const auto ledger = Ledger::open("/dev/full", "one");
    ASSERT_FALSE(ledger);
    EXPECT_THAT(ledger.error().text(), HasSubstr("/dev/full"));
}

// Two campaigns on one file: neither holds it while its trials play, and each waits for the other.
TEST_F(CampaignLedger, IsNotHeldWhileNoAnswerComes) {
    auto one = Ledger::open(place_ / "a", "one");
    auto other = Ledger::open(place_ / "a", "one");
    ASSERT_TRUE(one && other);
    ASSERT_TRUE(one->put(answer(1), 0));
    std::thread plays([&] {  // a long trial
        for (int i = 0; i < 12; ++i) {
            std::this_thread::sleep_for(std::chrono::milliseconds(100));
            EXPECT_TRUE(one->settle());
        }
    });
    const auto begun = std::chrono::steady_clock::now();
    const auto put = other->put(answer(2), 0);
    EXPECT_TRUE(put) << put.error().text();
    EXPECT_LT(std::chrono::steady_clock::now() - begun, std::chrono::seconds(5));
    plays.join();
    ASSERT_TRUE(other->commit());
    EXPECT_EQ(one->totals()->trials, 2u);
}

TEST_F(CampaignLedger, AnAnswerCrossesTextUnchanged) {
    const Answer one = answer(12, results::Verdict::unknown);
    EXPECT_EQ(answer_from(text_of(one)), one);
    EXPECT_FALSE(answer_from("[1,2]"));
    EXPECT_FALSE(answer_from("[\"a\",1,2,3,4,5,6,7,8,9,10]"));
}

TEST_F(CampaignLedger, AChildWithoutAnAnswerIsUnknownWithItsReason) {
    Ended ended{.number = 3};
    ended.signal = SIGSEGV;
    EXPECT_THAT(answer_of(ended, "a/b", 9).reason, HasSubstr("signal 11"));
    EXPECT_EQ(answer_of(ended, "a/b", 9).verdict, results::Verdict::unknown);
    ended.over_budget = true;
    EXPECT_THAT(answer_of(ended, "a/b", 9).reason, HasSubstr("time was up"));
}

}  // namespace
}  // namespace deadrank::runners::campaign
