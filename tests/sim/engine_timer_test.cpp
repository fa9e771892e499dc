// tests/sim/engine_timer_test.cpp — Goal: handlers ring in order, once, or never when called off, and none
// outlives its run.
#include <array>
#include <gtest/gtest.h>
#include <memory>
#include <string>

#include "tests/sim/engine_harness.h"
#include "tests/sim/resident_bytes.h"
#include "tests/sim/sanitizers.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;
using rig::play;

TEST(Timer, CallsHandlersInOrderOfTimeThenOfScheduling) {
    play([](Engine& engine) {
        std::string order;
        engine.spawn(0, [&] {
            engine.call_at(2us, {}, [&] { order += 'c'; });
            engine.call_at(1us, {}, [&] { order += 'a'; });
            engine.call_at(1us, {}, [&] { order += 'b'; });
            engine.call_after(0us, {}, [&] { order += '0'; });
            engine.sleep(1ms);
        });
        engine.run();
        EXPECT_EQ(order, "0abc");
    });
}

TEST(Timer, CallsOffATimerOnce) {
    play([](Engine& engine) {
        int rang = 0;
        engine.spawn(0, [&] {
            const TimerId early = engine.call_after(1us, {}, [&] { ++rang; });
            const TimerId late = engine.call_after(5us, {}, [&] { rang += 10; });
            engine.sleep(2us);
            EXPECT_FALSE(engine.cancel(early)) << "it rang already";
            EXPECT_TRUE(engine.cancel(late));
            EXPECT_FALSE(engine.cancel(late));
            EXPECT_FALSE(engine.cancel(TimerId{}));
            // The slot of the early one is in use again; the old handle must not reach it.
            engine.call_after(1us, {}, [&] { rang += 100; });
            EXPECT_FALSE(engine.cancel(early));
            engine.sleep(10us);
        });
        engine.run();
        EXPECT_EQ(rang, 101);
    });
}

TEST(Timer, LetsATimerCalledOffNeitherPassTimeNorDelayADeadlock) {
    play([](Engine& engine) {
        engine.spawn(0, [&] {
            engine.cancel(engine.call_after(10min, {}, [] {}));
            engine.block({.what = "nothing"});
        });
        const EngineEnd outcome = engine.run();
        EXPECT_EQ(outcome.ending, Ending::deadlock);
        EXPECT_EQ(outcome.now, 0s);
    });
}

TEST(Timer, SweepsTimeOutsThatNeverRing) {
    play([](Engine& engine) {
        const std::size_t before = rig::resident_bytes();
        engine.spawn(0, [&] {
            for (int i = 0; i < 100'000; ++i) {
                const TimerId watchdog = engine.call_after(10min, {}, [] { FAIL(); });
                engine.block_until(engine.now() + 10min, {.what = "all_reduce"});
                engine.cancel(watchdog);
            }
        });
        engine.spawn(1, [&] {
            for (int i = 0; i < 100'000; ++i) {
                engine.sleep(1us);
                engine.wake(0);
            }
        });
        EXPECT_EQ(engine.run().ending, Ending::completed);
        EXPECT_EQ(engine.now(), 100'000us);
        if (rig::address_sanitizer) return;  // it keeps freed memory in quarantine
        EXPECT_LE(rig::resident_bytes(), before + (4 << 20)) << "200,000 stale events would take 11 MB";
    });
}

TEST(Timer, KeepsHandlersOfAnySizeAndDestroysThemAll) {
    const auto token = std::make_shared<int>(0);
    play([&](Engine& engine) {
        std::array<std::uint64_t, 20> large{};
        large[19] = 5;
        std::uint64_t sum = 0;
        engine.spawn(0, [&] {
            engine.call_after(1us, {}, [&sum, large] { sum += large[19]; });
            engine.call_after(1us, {}, [&sum, token] { sum += 1; });
            engine.cancel(engine.call_after(1us, {}, [token] { FAIL(); }));
            engine.call_after(1h, {}, [token] { FAIL(); });  // never played: the run is over before
            engine.sleep(2us);
        });
        engine.run();
        EXPECT_EQ(sum, 6u);
        engine.reset();
        EXPECT_EQ(token.use_count(), 1);
    });
    EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace deadrank::sim
