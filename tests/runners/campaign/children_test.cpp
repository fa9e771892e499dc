// tests/runners/campaign/children_test.cpp — Forked children and their ends.
// Goal: a trial that answers, throws, crashes or never ends costs itself alone, and nothing is left running.
#include "runners/campaign/children.h"

#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <thread>
#include <unistd.h>

namespace deadrank::runners::campaign {
namespace {

using std::chrono::milliseconds;
using testing::HasSubstr;

std::map<std::uint64_t, Ended> all_of(Children& children) {
    std::map<std::uint64_t, Ended> ended;
    while (children.running() > 0) {
        for (Ended& one : children.wait(milliseconds(50))) ended[one.number] = std::move(one);
    }
    return ended;
}

TEST(CampaignChildren, EachEndIsToldFromTheOthers) {
    Children children(std::chrono::minutes(1));
    ASSERT_TRUE(children.start(1, [] { return std::string(300'000, 'x'); }));  // more than a pipe holds
    ASSERT_TRUE(children.start(2, []() -> std::string { throw std::runtime_error("no such shard"); }));
    ASSERT_TRUE(children.start(3, [] {
        raise(SIGKILL);
        return std::string();
    }));
    const auto ended = all_of(children);
    EXPECT_TRUE(ended.at(1).well());
    EXPECT_EQ(ended.at(1).answer.size(), 300'000u);
    EXPECT_FALSE(ended.at(2).well());
    EXPECT_THAT(ended.at(2).answer, HasSubstr("no such shard"));
    EXPECT_EQ(ended.at(3).signal, SIGKILL);
}

TEST(CampaignChildren, OneThatNeverEndsIsEndedAfterItsBudget) {
    Children children(milliseconds(100));
    ASSERT_TRUE(children.start(7, [] {
        pause();
        return std::string();
    }));
    const auto ended = all_of(children);
    EXPECT_TRUE(ended.at(7).over_budget);
    EXPECT_GE(ended.at(7).seconds, 0.1);
}

TEST(CampaignChildren, NoneOutlivesTheirParent) {
    int ends[2];
    ASSERT_EQ(pipe(ends), 0);
    {
        Children children(std::chrono::minutes(1));
        ASSERT_TRUE(children.start(1, [] {
            pause();
            return std::string();
        }));
        close(ends[1]);
    }
    // The child held the other end; it reads as closed only when the child is gone.
    char nothing;
    EXPECT_EQ(read(ends[0], &nothing, 1), 0);
    close(ends[0]);
}

}  // namespace
}  // namespace deadrank::runners::campaign
