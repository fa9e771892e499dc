// tests/sim/engine_test.cpp — Goal: virtual time, waits, wakes, deadlines and handlers do what sim/engine.h
// promises.
#include "sim/engine.h"

#include <gtest/gtest.h>
#include <memory>
#include <string>
#include <vector>

#include "sim/stage.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;

// Each test body runs on a stage of its own, with a fresh simulation.
void play(const std::function<void(Engine&)>& body, const EngineOptions& options = {}) {
    on_stage([&](Engine& engine) {
        engine.reset(options);
        body(engine);
    });
}

TEST(Engine, LetsVirtualTimePassOnlyInWaits) {
    play([](Engine& engine) {
        std::vector<Time> seen;
        engine.spawn(0, [&] {
            seen.push_back(engine.now());
            engine.sleep(1h);
            seen.push_back(engine.now());
            engine.sleep(0ns);
            engine.sleep_until(5s);  // long past
            seen.push_back(engine.now());
        });
        const Outcome outcome = engine.run();
        EXPECT_EQ(outcome.ending, Ending::completed);
        EXPECT_EQ(outcome.now, 1h);
        EXPECT_EQ(seen, (std::vector<Time>{0s, 1h, 1h}));
    });
}

TEST(Engine, StartsActorsInTheOrderOfTheirSpawning) {
    play([](Engine& engine) {
        std::string order;
        for (ActorId id = 0; id < 4; ++id)
            engine.spawn(id, [&order, id] { order += static_cast<char>('a' + id); });
        engine.run();
        EXPECT_EQ(order, "abcd");
    });
}

TEST(Engine, WakesAWaiterAtTheSameTime) {
    play([](Engine& engine) {
        bool ready = false;
        Time woken = 0s;
        engine.spawn(0, [&] {
            while (!ready) engine.block({.what = "ready"});
            woken = engine.now();
        });
        engine.spawn(1, [&] {
            engine.sleep(7us);
            ready = true;
            engine.wake(0);
            engine.wake(0);   // a second wake changes nothing
            engine.wake(77);  // nobody there
        });
        EXPECT_EQ(engine.run().ending, Ending::completed);
        EXPECT_EQ(woken, 7us);
    });
}

TEST(Engine, DoesNotWakeSleepers) {
    play([](Engine& engine) {
        Time woken = 0s;
        engine.spawn(0, [&] {
            engine.sleep(10us);
            woken = engine.now();
        });
        engine.call_at(3us, {}, [&] { engine.wake(0); });
        engine.run();
        EXPECT_EQ(woken, 10us);
    });
}

TEST(Engine, TellsADeadlineFromAWake) {
    play([](Engine& engine) {
        std::vector<bool> woken;
        std::vector<Time> at;
        engine.spawn(0, [&] {
            for (int i = 0; i < 3; ++i) {
                woken.push_back(engine.block_until(engine.now() + 10us, {.what = "message"}));
                at.push_back(engine.now());
            }
        });
        engine.call_at(4us, {.target = 0}, [&] { engine.wake(0); });
        engine.run();
        EXPECT_EQ(woken, (std::vector<bool>{true, false, false}));
        EXPECT_EQ(at, (std::vector<Time>{4us, 14us, 24us}));
    });
}

TEST(Engine, CallsHandlersInOrderOfTimeThenOfScheduling) {
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

TEST(Engine, CallsOffATimerOnce) {
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

TEST(Engine, LetsATimerCalledOffNeitherPassTimeNorDelayADeadlock) {
    play([](Engine& engine) {
        engine.spawn(0, [&] {
            engine.cancel(engine.call_after(10min, {}, [] {}));
            engine.block({.what = "nothing"});
        });
        const Outcome outcome = engine.run();
        EXPECT_EQ(outcome.ending, Ending::deadlock);
        EXPECT_EQ(outcome.now, 0s);
    });
}

TEST(Engine, SweepsTimeOutsThatNeverRing) {
    play([](Engine& engine) {
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
    });
}

TEST(Engine, KeepsHandlersOfAnySizeAndDestroysThemAll) {
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

TEST(Engine, ReportsADeadlockWithWhoWaitsForWhom) {
    play([](Engine& engine) {
        engine.spawn(0, [&] { engine.block({.what = "all_reduce", .on = 1, .detail = 7}); });
        engine.spawn(1, [&] { engine.sleep(5us); });
        engine.spawn(2, [&] { engine.block({.what = "all_reduce", .on = 1, .detail = 7}); });
        const Outcome outcome = engine.run();
        EXPECT_EQ(outcome.ending, Ending::deadlock);
        EXPECT_EQ(outcome.now, 5us);
        ASSERT_EQ(outcome.waiting.size(), 2u);
        EXPECT_EQ(outcome.waiting[0].actor, 0u);
        EXPECT_EQ(outcome.waiting[1].actor, 2u);
        EXPECT_STREQ(outcome.waiting[1].wait.what, "all_reduce");
        EXPECT_EQ(outcome.waiting[1].wait.on, 1u);
        EXPECT_EQ(outcome.waiting[1].wait.detail, 7u);
    });
}

TEST(Engine, StopsAtATimeLimitAndGoesOn) {
    play([](Engine& engine) {
        int steps = 0;
        engine.spawn(0, [&] {
            for (; steps < 10; ++steps) engine.sleep(10us);
        });
        Outcome outcome = engine.run({.until = 35us});
        EXPECT_EQ(outcome.ending, Ending::time_limit);
        EXPECT_EQ(outcome.now, 35us);
        EXPECT_EQ(steps, 3);
        ASSERT_EQ(outcome.waiting.size(), 1u);
        EXPECT_STREQ(outcome.waiting[0].wait.what, "sleep");
        engine.call_at(36us, {}, [&] { steps += 100; });
        outcome = engine.run();
        EXPECT_EQ(outcome.ending, Ending::completed);
        EXPECT_EQ(engine.now(), 40us);
    });
}

TEST(Engine, BoundsALoopThatLetsNoTimePass) {
    play([](Engine& engine) {
        for (ActorId id = 0; id < 2; ++id) {
            engine.spawn(id, [&engine, id] {
                for (;;) {
                    engine.wake(1 - id);
                    engine.block({.what = "ball"});
                }
            });
        }
        EXPECT_EQ(engine.run({.steps = 10'000}).ending, Ending::step_limit);
        EXPECT_EQ(engine.now(), 0s);
        EXPECT_EQ(engine.run({.steps = 10'000}).ending, Ending::step_limit);
    });
}

TEST(Engine, StopsWhenToldAndGoesOn) {
    play([](Engine& engine) {
        engine.spawn(0, [&] {
            engine.sleep(1us);
            engine.stop();
            engine.sleep(1us);
        });
        EXPECT_EQ(engine.run().ending, Ending::stopped);
        EXPECT_EQ(engine.now(), 1us);
        EXPECT_EQ(engine.run().ending, Ending::completed);
    });
}

TEST(Engine, KeepsAHashPerActorThatOthersDoNotMove) {
    const auto hash_of_zero = [](std::uint64_t digest_for_one) {
        std::uint64_t hash = 0;
        std::uint64_t whole = 0;
        play([&](Engine& engine) {
            engine.spawn(0, [&] { engine.sleep(5us); });
            engine.spawn(1, [&] {
                engine.call_after(1us, {.target = 1, .digest = digest_for_one}, [] {});
                if (digest_for_one == 2) engine.call_after(1us, {.target = 1}, [] {});
                engine.sleep(9us);
            });
            engine.run();
            hash = engine.trace_of(0);
            whole = engine.trace().value();
        });
        return std::pair(hash, whole);
    };
    EXPECT_EQ(hash_of_zero(1).first, hash_of_zero(2).first);
    EXPECT_NE(hash_of_zero(1).second, hash_of_zero(2).second);
}

TEST(Engine, HashesWhatIsNotedAndShowsTheWindowAskedFor) {
    play(
        [](Engine& engine) {
            engine.spawn(0, [&] {
                for (std::uint64_t step = 0; step < 6; ++step) {
                    engine.sleep(1us);
                    engine.note({.target = 0, .digest = step, .label = "loss"});
                }
            });
            engine.run();
            EXPECT_EQ(engine.trace().events(), 12u);
            ASSERT_EQ(engine.watched().size(), 2u);
            EXPECT_EQ(engine.watched()[0].index, 4u);
            EXPECT_STREQ(engine.watched()[0].cause.label, "deadline");
            EXPECT_STREQ(engine.watched()[1].cause.label, "loss");
            EXPECT_EQ(engine.watched()[1].cause.digest, 2u);
            EXPECT_EQ(engine.watched()[1].time, 3us);
        },
        {.watch = {4, 6}});
}

TEST(EngineDeathTest, RefusesToWaitOutsideAnActor) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(play([](Engine& engine) { engine.block({.what = "nothing"}); }), "nobody");
    EXPECT_DEATH(play([](Engine& engine) {
                     engine.spawn(0, [&] { engine.sleep(5us); });
                     engine.call_at(1us, {}, [&] { engine.sleep(1us); });
                     engine.run();
                 }),
                 "nobody");
}

TEST(EngineDeathTest, RefusesThePast) {
    GTEST_FLAG_SET(death_test_style, "threadsafe");
    EXPECT_DEATH(play([](Engine& engine) {
                     engine.spawn(0, [&] {
                         engine.sleep(5us);
                         engine.call_at(4us, {}, [] {});
                     });
                     engine.run();
                 }),
                 "when >= now_");
}

}  // namespace
}  // namespace deadrank::sim
