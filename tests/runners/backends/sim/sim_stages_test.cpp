// tests/runners/backends/sim/sim_stages_test.cpp — Goal: simulations may be played from many threads at once,
// and what one throws reaches its caller and spoils no other.
#include <atomic>
#include <gtest/gtest.h>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runners/backends/sim/stages.h"

namespace deadrank::runners {
namespace {

TEST(Stages, PlayFromManyThreadsAtOnce) {
    Stages stages;
    std::atomic<int> played = 0;
    std::vector<std::thread> threads;
    for (int i = 0; i < 4; ++i) {
        threads.emplace_back([&] {
            for (int k = 0; k < 8; ++k) stages.play([&](sim::Engine&) { ++played; });
        });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(played, 32);
}

TEST(Stages, OneAfterAnotherUseTheSameThread) {
    Stages stages;
    std::thread::id first, second;
    stages.play([&](sim::Engine&) { first = std::this_thread::get_id(); });
    stages.play([&](sim::Engine&) { second = std::this_thread::get_id(); });
    EXPECT_EQ(first, second);
    EXPECT_NE(first, std::this_thread::get_id());
}

TEST(Stages, WhatIsThrownReachesTheCaller) {
    Stages stages;
    EXPECT_THROW(stages.play([](sim::Engine&) { throw std::runtime_error("no"); }), std::runtime_error);
    bool played = false;
    stages.play([&](sim::Engine&) { played = true; });
    EXPECT_TRUE(played);
}

}  // namespace
}  // namespace deadrank::runners
