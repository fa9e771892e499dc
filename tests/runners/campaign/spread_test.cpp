// tests/runners/campaign/spread_test.cpp — Manager and workers over a line between threads.
// Goal: whoever plays, each number is answered once; a stop and a worker of another campaign end it for all.
#include "runners/campaign/spread.h"

#include <atomic>
#include <deque>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>
#include <mutex>
#include <set>
#include <thread>

namespace deadrank::runners::campaign {
namespace {

using testing::HasSubstr;

// Two ends of a line between threads.
class Line {
public:
    void put(int from, int to, const std::string& text) {
        const std::lock_guard lock(mutex_);
        waiting_[to].push_back({from, text});
    }
    std::optional<Message> get(int to) {
        const std::lock_guard lock(mutex_);
        auto& queue = waiting_[to];
        if (queue.empty()) return std::nullopt;
        Message first = queue.front();
        queue.pop_front();
        return first;
    }

private:
    std::mutex mutex_;
    std::map<int, std::deque<Message>> waiting_;
};

class FakePeers final : public Peers {
public:
    FakePeers(Line& line, int rank, int size) : line_(line), rank_(rank), size_(size) {}
    int rank() const override { return rank_; }
    int size() const override { return size_; }
    void send(int to, const std::string& text) override { line_.put(rank_, to, text); }
    std::optional<Message> receive() override { return line_.get(rank_); }

private:
    Line& line_;
    int rank_, size_;
};

class CampaignSpread : public testing::Test {
protected:
    Work work() const {
        Work work;
        work.definition = "the same";
        work.play = [](std::uint64_t number) {
            std::this_thread::sleep_for(std::chrono::milliseconds(number % 3));
            return "answer " + std::to_string(number);
        };
        return work;
    }
    std::function<scenarios::Result<void>(const Ended&, int)> keep() {
        return [this](const Ended& ended, int rank) {
            EXPECT_EQ(ended.answer, "answer " + std::to_string(ended.number));
            answered_.push_back(ended.number);
            ranks_.insert(rank);
            return scenarios::Result<void>();
        };
    }

    std::vector<std::uint64_t> numbers_ = {3, 4, 5, 8, 9, 10, 11, 12, 13, 20, 21, 22};
    std::vector<std::uint64_t> answered_;
    std::set<int> ranks_;
};

TEST_F(CampaignSpread, OneProcessAnswersAll) {
    Work alone = work();
    alone.slots = 3;
    ASSERT_TRUE(manage(alone, numbers_, nullptr, keep()));
    EXPECT_THAT(answered_, testing::UnorderedElementsAreArray(numbers_));
}

TEST_F(CampaignSpread, PeersAnswerEachOnce) {
    Line line;
    FakePeers first(line, 0, 3);
    std::vector<std::jthread> workers;
    for (int rank = 1; rank < 3; ++rank) {
        workers.emplace_back([&, rank] {
            FakePeers peers(line, rank, 3);
            serve(work(), peers);
        });
    }
    ASSERT_TRUE(manage(work(), numbers_, &first, keep()));
    EXPECT_THAT(answered_, testing::UnorderedElementsAreArray(numbers_));
}

TEST_F(CampaignSpread, AWorkerOfAnotherCampaignIsNamed) {
    Line line;
    FakePeers first(line, 0, 2);
    std::jthread worker([&] {
        Work other = work();
        other.definition = "another";
        FakePeers peers(line, 1, 2);
        serve(other, peers);
    });
    Work slow = work();
    slow.play = [](std::uint64_t number) {
        std::this_thread::sleep_for(std::chrono::milliseconds(200));
        return "answer " + std::to_string(number);
    };
    const auto done = manage(slow, numbers_, &first, keep());
    ASSERT_FALSE(done);
    EXPECT_THAT(done.error().text(), HasSubstr("rank 1"));
}

TEST_F(CampaignSpread, AStopKeepsWhatWasAnswered) {
    std::atomic<bool> stop = false;
    Work stopped = work();
    stopped.stop = &stop;
    const auto keep_three = [&](const Ended& ended, int) {
        answered_.push_back(ended.number);
        stop = answered_.size() == 3;
        return scenarios::Result<void>();
    };
    ASSERT_TRUE(manage(stopped, numbers_, nullptr, keep_three));
    EXPECT_EQ(answered_.size(), 3u);
}

}  // namespace
}  // namespace deadrank::runners::campaign
