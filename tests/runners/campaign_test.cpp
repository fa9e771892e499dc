// tests/runners/campaign_test.cpp — Goal: outcomes arrive once each and in the order asked for, on one thread
// or many, and a stop ends the campaign without losing what was done.
#include "runners/pipeline/campaign.h"

#include <gtest/gtest.h>
#include <thread>

#include "runners/backend/extension.h"
#include "tests/runners/fake_runner.h"

namespace deadrank::runners {
namespace {

using testing_runner::FakeRunner;

class CampaignTest : public ::testing::Test {
protected:
    CampaignTest() {
        for (std::uint64_t seed = 1; seed <= 24; ++seed) jobs_.push_back({&scenario_, {seed}});
        options_.line.healed = false;
        options_.line.control = false;
    }

    std::size_t run(FakeRunner::Play how) {
        const auto make = [&] { return std::make_unique<FakeRunner>(how); };
        return play_all(jobs_, make, vocabulary(), options_,
                        [&](results::Case&& outcome) { seeds_.push_back(outcome.seed); });
    }
    static scenarios::Result<Record> later_when_early(const scenarios::Plan& plan) {
        std::this_thread::sleep_for(std::chrono::milliseconds(plan.seed.number % 3 == 1 ? 5 : 0));
        return testing_runner::finished_record();
    }

    const scenarios::Scenario scenario_ = testing_runner::killed_rank_scenario();
    std::vector<Job> jobs_;
    CampaignOptions options_;
    std::vector<std::uint64_t> seeds_;
};

TEST_F(CampaignTest, KeepsTheOrderOnManyThreads) {
    options_.threads = 6;
    std::size_t last = 0;
    options_.progress = [&](std::size_t done, std::size_t all) {
        last = done;
        EXPECT_EQ(all, 24u);
    };
    EXPECT_EQ(run(later_when_early), 24u);
    EXPECT_EQ(last, 24u);
    ASSERT_EQ(seeds_.size(), 24u);
    for (std::size_t i = 0; i < seeds_.size(); ++i) EXPECT_EQ(seeds_[i], i + 1);
}

TEST_F(CampaignTest, StopsAfterWhatIsUnderWayAndKeepsIt) {
    std::atomic<bool> stop = false;
    options_.line.stop = &stop;
    options_.threads = 2;
    const std::size_t played = run([&](const scenarios::Plan& plan) {
        if (plan.seed.number == 6) stop = true;
        return later_when_early(plan);
    });
    EXPECT_GE(played, 6u);
    EXPECT_LT(played, 24u);
    EXPECT_EQ(seeds_.size(), played);
    EXPECT_TRUE(std::is_sorted(seeds_.begin(), seeds_.end()));
}

TEST_F(CampaignTest, PlaysNothingWhenThereIsNothing) {
    jobs_.clear();
    options_.threads = 4;
    EXPECT_EQ(run(later_when_early), 0u);
}

}  // namespace
}  // namespace deadrank::runners
