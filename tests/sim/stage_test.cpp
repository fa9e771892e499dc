// tests/sim/stage_test.cpp — Goal: one stage plays any number of simulations, each as if it were the first,
// in constant memory.
#include "sim/engine/stage.h"

#include <gtest/gtest.h>
#include <memory>
#include <set>
#include <stdexcept>
#include <thread>
#include <vector>

#include "sim/engine/engine.h"
#include "tests/sim/resident_bytes.h"
#include "tests/sim/ring.h"
#include "tests/sim/sanitizers.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;

std::uint64_t play(Engine& engine, std::uint32_t ranks, std::uint64_t rounds, std::uint64_t seed,
                   const EngineOptions& options = {}) {
    engine.reset(options);
    rig::Ring ring(engine, ranks, rounds, seed);
    ring.spawn();
    engine.run();
    engine.close();
    return engine.trace().value();
}

using rig::resident_bytes;

TEST(Stage, PlaysTheSameSimulationTwiceAlike) {
    on_stage([](Engine& engine) {
        const std::uint64_t first = play(engine, 64, 20, 1);
        const std::uint64_t other = play(engine, 64, 20, 2);
        EXPECT_NE(first, other) << "another seed is another run";
        EXPECT_EQ(play(engine, 64, 20, 1), first);
    });
}

TEST(Stage, LeavesNothingOfARunThatWasCutShort) {
    on_stage([](Engine& engine) {
        const std::uint64_t clean = play(engine, 16, 20, 1);
        for (Time until : {Time(0), Time(1500), Time(9000)}) {
            engine.reset();
            rig::Ring ring(engine, 16, 20, 1);
            ring.spawn();
            EXPECT_EQ(engine.run({.until = until}).ending, Ending::time_limit);
            engine.close();
            EXPECT_EQ(play(engine, 16, 20, 1), clean);
        }
    });
}

TEST(Stage, GivesOneHashOnAnyThread) {
    std::vector<std::uint64_t> hashes(4);
    std::vector<std::thread> threads;
    for (std::uint64_t& hash : hashes) {
        threads.emplace_back(
            [&hash] { on_stage([&hash](Engine& engine) { hash = play(engine, 64, 50, 7); }); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::set(hashes.begin(), hashes.end()).size(), 1u);
}

TEST(Stage, DoesNotGrowOverTenThousandSmallSimulations) {
    if (rig::address_sanitizer) GTEST_SKIP() << "AddressSanitizer keeps freed memory in quarantine";
    on_stage([](Engine& engine) {
        std::set<std::uint64_t> hashes;
        std::size_t settled = 0;
        for (std::uint64_t i = 0; i < 10'000; ++i) {
            // Sizes alternate, and every third run ends in the middle, so that fibers are parked in all ways.
            engine.reset({.actors = 8});
            rig::Ring ring(engine, 4 + i % 5, 20, i % 10);
            ring.spawn();
            engine.run({.until = i % 3 == 0 ? Time(10us) : never});
            engine.close();
            hashes.insert(engine.trace().value());
            if (i == 1'000) settled = resident_bytes();
        }
        EXPECT_LE(resident_bytes(), settled + (1 << 20));
        EXPECT_LE(hashes.size(), 30u) << "30 different simulations were played, each many times";
    });
}

TEST(Stage, GivesTheStacksOfALargeRunBack) {
    if (rig::thread_sanitizer) GTEST_SKIP() << "its shadow stack holds the frames of 10,000 fibers at most";
    on_stage([](Engine& engine) {
        play(engine, 8, 20, 1, {.actors = 8, .stack_bytes = 16 << 10});
        const std::size_t before = resident_bytes();
        play(engine, 50'000, 2, 1, {.actors = 50'000, .stack_bytes = 16 << 10});
        EXPECT_GE(resident_bytes(), before + 45'000 * 4096);
        play(engine, 8, 20, 1, {.actors = 8, .stack_bytes = 16 << 10});
        EXPECT_LE(resident_bytes(), before + 50'000 * 1024);
    });
}

TEST(Stage, ChangesTheSizeOfStacks) {
    on_stage([](Engine& engine) {
        const std::uint64_t small = play(engine, 8, 20, 1, {.stack_bytes = 16 << 10});
        EXPECT_EQ(play(engine, 8, 20, 1, {.stack_bytes = 1 << 20}), small);
        engine.spawn(100, [] {
            volatile char deep[200'000];
            deep[0] = 1;
            EXPECT_EQ(deep[0], 1);
        });
        EXPECT_EQ(engine.run().ending, Ending::completed);
        EXPECT_GE(engine.stack_high_water(), 200'000u);
    });
}

TEST(Stage, BringsTheExceptionOfItsWorkHome) {
    EXPECT_THROW(on_stage([](Engine&) { throw std::runtime_error("no such scenario"); }), std::runtime_error);
}

TEST(Stage, EndsWithActorsStillWaitingAndUnwindsThem) {
    bool unwound = false;
    on_stage([&unwound](Engine& engine) {
        engine.reset();
        engine.spawn(0, [&] {
            const std::shared_ptr<void> at_the_end(nullptr, [&](void*) { unwound = true; });
            engine.block({.what = "nothing"});
        });
        engine.run();
        engine.spawn(1, [] {});
    });
    EXPECT_TRUE(unwound);
}

}  // namespace
}  // namespace deadrank::sim
