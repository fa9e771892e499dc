// tests/sim/ring_test.cpp — Goal: the engine repeats the recorded hashes of the ring, with every queue, at
// every size. The values were recorded with four implementations that share no code with this one.
#include "tests/sim/ring.h"

#include <gtest/gtest.h>

#include "sim/engine/stage.h"
#include "tests/sim/sanitizers.h"

namespace deadrank::sim {
namespace {

struct Recorded {
    std::uint32_t ranks;
    std::uint64_t rounds;
    std::uint64_t hash;
    std::int64_t end;
};

// ThreadSanitizer keeps the frames of all fibers on one shadow stack of 65,536.
bool too_many_fibers_here() { return rig::thread_sanitizer; }

void expect_recorded(Engine& engine, QueueKind queue, const Recorded& recorded) {
    engine.reset({.actors = recorded.ranks, .stack_bytes = 16 << 10, .queue = queue});
    rig::Ring ring(engine, recorded.ranks, recorded.rounds);
    ring.spawn();
    const EngineEnd outcome = engine.run();
    EXPECT_EQ(outcome.ending, Ending::completed);
    EXPECT_EQ(engine.trace().value(), recorded.hash);
    EXPECT_EQ(engine.trace().events(), recorded.ranks * recorded.rounds);
    EXPECT_EQ(outcome.now.count(), recorded.end);
}

constexpr Recorded thousand{1'000, 2'000, 0xb35f95762eff9470, 3'008'855};
constexpr Recorded ten_thousand{10'000, 200, 0x3b3010477c4702f9, 307'293};
constexpr Recorded hundred_thousand{100'000, 20, 0x9ba49c149e7174ce, 34'164};
constexpr Recorded million{1'000'000, 3, 0xb7c724a6577019ff, 5'993};

TEST(Ring, OfAThousandHasTheRecordedHashOnEveryQueue) {
    on_stage([](Engine& engine) {
        for (QueueKind queue : {QueueKind::heap, QueueKind::wheel, QueueKind::automatic}) {
            expect_recorded(engine, queue, thousand);
        }
    });
}

TEST(Ring, OfTenThousandHasTheRecordedHashOnEveryQueue) {
    if (too_many_fibers_here()) GTEST_SKIP() << "more fibers than ThreadSanitizer can follow";
    on_stage([](Engine& engine) {
        for (QueueKind queue : {QueueKind::heap, QueueKind::wheel})
            expect_recorded(engine, queue, ten_thousand);
    });
}

TEST(SlowRing, OfAHundredThousandHasTheRecordedHashOnEveryQueue) {
    if (too_many_fibers_here()) GTEST_SKIP() << "more fibers than ThreadSanitizer can follow";
    on_stage([](Engine& engine) {
        for (QueueKind queue : {QueueKind::heap, QueueKind::wheel})
            expect_recorded(engine, queue, hundred_thousand);
    });
}

TEST(SlowRing, OfAMillionHasTheRecordedHash) {
    if (too_many_fibers_here()) GTEST_SKIP() << "more fibers than ThreadSanitizer can follow";
    on_stage([](Engine& engine) { expect_recorded(engine, QueueKind::automatic, million); });
}

}  // namespace
}  // namespace deadrank::sim
