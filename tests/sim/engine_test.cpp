// tests/sim/engine_test.cpp — Goal: virtual time, waits, wakes, deadlines and handlers do what
// sim/engine/engine.h promises.
#include "sim/engine/engine.h"

#include <gtest/gtest.h>
#include <string>
#include <vector>

#include "tests/sim/engine_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;

using rig::play;

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
        const EngineEnd outcome = engine.run();
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

TEST(Engine, ReportsADeadlockWithWhoWaitsForWhom) {
    play([](Engine& engine) {
        engine.spawn(0, [&] { engine.block({.what = "all_reduce", .on = 1, .detail = 7}); });
        engine.spawn(1, [&] { engine.sleep(5us); });
        engine.spawn(2, [&] { engine.block({.what = "all_reduce", .on = 1, .detail = 7}); });
        const EngineEnd outcome = engine.run();
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
        EngineEnd outcome = engine.run({.until = 35us});
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
            engine.spawn(0, [&] {
                engine.sleep(5us);
                engine.sleep(5us);  // by now actor 1 has taken more or fewer numbers of the sequence
            });
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
