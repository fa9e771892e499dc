// tests/sim/trace_hash_test.cpp — Goal: every field and the order count, and the first window that differs is
// found.
#include "sim/engine/trace_hash.h"

#include <gtest/gtest.h>

namespace deadrank::sim {
namespace {

TraceHash run_of(std::uint64_t events, std::uint64_t odd_one = UINT64_MAX) {
    TraceHash hash;
    for (std::uint64_t i = 0; i < events; ++i) hash.add(i, i, 0, i == odd_one ? 1 : 0);
    return hash;
}

TEST(TraceHash, NoticesEveryField) {
    const auto of = [](std::uint64_t time, std::uint64_t order, std::uint64_t target, std::uint64_t digest) {
        return trace_step(trace_hash_start, time, order, target, digest);
    };
    const std::uint64_t reference = of(10, 20, 30, 40);
    EXPECT_EQ(reference, of(10, 20, 30, 40));
    EXPECT_NE(reference, of(11, 20, 30, 40));
    EXPECT_NE(reference, of(10, 21, 30, 40));
    EXPECT_NE(reference, of(10, 20, 31, 40));
    EXPECT_NE(reference, of(10, 20, 30, 41));
}

TEST(TraceHash, NoticesTheOrder) {
    TraceHash one;
    one.add(1, 1, 1, 1);
    one.add(2, 2, 2, 2);
    TraceHash other;
    other.add(2, 2, 2, 2);
    other.add(1, 1, 1, 1);
    EXPECT_NE(one.value(), other.value());
}

TEST(TraceHash, LeavesACheckpointEvery4096Events) {
    EXPECT_EQ(run_of(4095).checkpoints().size(), 0u);
    EXPECT_EQ(run_of(4096).checkpoints().size(), 1u);
    EXPECT_EQ(run_of(4096).checkpoints()[0], run_of(4096).value());
    EXPECT_EQ(run_of(3 * 4096 + 5).checkpoints().size(), 3u);
}

TEST(TraceHash, ForgetsOnReset) {
    TraceHash hash = run_of(5000);
    hash.reset();
    EXPECT_EQ(hash.value(), TraceHash().value());
    EXPECT_TRUE(hash.checkpoints().empty());
}

TEST(FirstDifference, IsTheWindowOfTheFirstEventThatDiffers) {
    const TraceHash same = run_of(50'000);
    for (std::uint64_t odd_one : {0u, 4095u, 4096u, 20'000u, 45'055u}) {
        const TraceHash other = run_of(50'000, odd_one);
        const TraceWindow window = first_difference(same.checkpoints(), other.checkpoints());
        EXPECT_LE(window.first, odd_one);
        EXPECT_LT(odd_one, window.last);
        EXPECT_EQ(window.last - window.first, TraceHash::checkpoint_every);
    }
}

TEST(FirstDifference, IsOpenPastTheLastCheckpoint) {
    const TraceHash same = run_of(10'000);
    const TraceHash other = run_of(10'000, 9'000);
    const TraceWindow window = first_difference(same.checkpoints(), other.checkpoints());
    EXPECT_EQ(window.first, 8192u);
    EXPECT_EQ(window.last, UINT64_MAX);
}

}  // namespace
}  // namespace deadrank::sim
