// tests/sim/engine_fate_test.cpp — Goal: actors may be killed, frozen, restarted and fail, and nothing leaks
// from one to another.
#include <gtest/gtest.h>
#include <memory>
#include <stdexcept>
#include <string>

#include "tests/sim/engine_harness.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;

using rig::play;

struct Says {
    std::string& to;
    std::string what;
    ~Says() { to += what; }
};

TEST(Kill, UnwindsAWaiter) {
    play([](Engine& engine) {
        std::string said;
        Time died = 0s;
        engine.spawn(0, [&] {
            const Says last_words{said, "bye"};
            try {
                engine.block({.what = "all_reduce"});
            } catch (const std::exception&) {
                FAIL() << "death is no error that a script may handle";
            } catch (const ActorKilled&) {
                died = engine.now();
                throw;
            }
        });
        engine.spawn(1, [&] {
            engine.sleep(3us);
            engine.kill(0);
            EXPECT_EQ(engine.state(0), ActorState::ready) << "it unwinds when its turn comes";
            engine.sleep(1us);
            EXPECT_EQ(engine.state(0), ActorState::ended);
            engine.kill(0);  // once more changes nothing
        });
        const EngineEnd outcome = engine.run();
        EXPECT_EQ(outcome.ending, Ending::completed);
        EXPECT_TRUE(outcome.failures.empty());
        EXPECT_EQ(said, "bye");
        EXPECT_EQ(died, 3us);
    });
}

TEST(Kill, ReachesSleepersAndThoseThatNeverStartedAndOneself) {
    play([](Engine& engine) {
        std::string ran;
        engine.spawn(0, [&] {
            ran += 'a';
            engine.kill(2);
            engine.sleep(1us);
            engine.kill(1);
            engine.kill(0);
            ran += 'X';
        });
        engine.spawn(1, [&] {
            engine.sleep(1h);
            ran += 'Y';
        });
        engine.spawn(2, [&] { ran += 'Z'; });
        EXPECT_EQ(engine.run().ending, Ending::completed);
        EXPECT_EQ(ran, "a");
        EXPECT_EQ(engine.now(), 1us);
    });
}

TEST(Kill, ComesFromHandlersToo) {
    play([](Engine& engine) {
        // The handler runs on the victim's own stack: the loop pumps in place.
        engine.spawn(0, [&] { engine.block({.what = "message"}); });
        engine.call_at(2us, {.target = 0}, [&] { engine.kill(0); });
        EXPECT_EQ(engine.run().ending, Ending::completed);
        EXPECT_EQ(engine.now(), 2us);
    });
}

TEST(Kill, DoesNotLetTheDyingWait) {
    play([](Engine& engine) {
        int swallowed = 0;
        engine.spawn(0, [&] {
            for (int i = 0; i < 5; ++i) {
                try {
                    engine.block({.what = "message"});
                } catch (...) {
                    ++swallowed;
                }
            }
        });
        engine.call_at(1us, {}, [&] { engine.kill(0); });
        EXPECT_EQ(engine.run().ending, Ending::completed);
        EXPECT_EQ(swallowed, 5);
        EXPECT_EQ(engine.now(), 1us);
    });
}

TEST(Respawn, IsAnotherIncarnation) {
    play([](Engine& engine) {
        std::string ran;
        engine.spawn(0, [&] {
            ran += 'a';
            engine.sleep(1us);
        });
        engine.spawn(1, [&] {
            EXPECT_EQ(engine.incarnation(0), 0u);
            engine.sleep(5us);
            engine.spawn(0, [&] {
                ran += 'b';
                EXPECT_EQ(engine.entity(0).incarnation, 1u);
                engine.sleep(1us);
            });
            engine.sleep(1us);
        });
        EXPECT_EQ(engine.run().ending, Ending::completed);
        EXPECT_EQ(ran, "ab");
        EXPECT_EQ(engine.now(), 6us);
    });
}

// The fiber that just ended is the one that the handler, called on its stack, takes for the next body.
TEST(Respawn, MayReuseTheFiberThatPumps) {
    play([](Engine& engine) {
        int lives = 0;
        engine.spawn(1, [&] { engine.sleep(1ms); });
        engine.spawn(0, [&] { ++lives; });
        for (int i = 1; i <= 5; ++i) {
            engine.call_at(Time(i * 10us), {}, [&] { engine.spawn(0, [&] { ++lives; }); });
        }
        EXPECT_EQ(engine.run().ending, Ending::completed);
        EXPECT_EQ(lives, 6);
    });
}

TEST(Freeze, HoldsWakesUntilTheThaw) {
    play([](Engine& engine) {
        Time woken = 0s;
        engine.spawn(0, [&] {
            engine.block({.what = "message"});
            woken = engine.now();
        });
        engine.spawn(1, [&] {
            engine.sleep(1us);
            engine.freeze(0);
            engine.sleep(1us);
            engine.wake(0);
            engine.sleep(1us);
            engine.thaw(0);
            engine.thaw(0);
        });
        EXPECT_EQ(engine.run().ending, Ending::completed);
        EXPECT_EQ(woken, 3us);
    });
}

TEST(Freeze, HoldsDeadlinesAndKeepsWhatCameFirst) {
    play([](Engine& engine) {
        bool woken = true;
        Time at = 0s;
        engine.spawn(0, [&] {
            woken = engine.block_until(2us, {.what = "message"});
            at = engine.now();
        });
        engine.call_at(1us, {}, [&] { engine.freeze(0); });
        engine.call_at(3us, {}, [&] { engine.wake(0); });
        engine.call_at(9us, {}, [&] { engine.thaw(0); });
        EXPECT_EQ(engine.run().ending, Ending::completed);
        EXPECT_FALSE(woken);
        EXPECT_EQ(at, 9us);
    });
}

TEST(Freeze, StopsARankOnTheSpotAndBeforeItsTurn) {
    play([](Engine& engine) {
        std::string order;
        engine.spawn(0, [&] {
            order += 'a';
            engine.freeze(0);
            order += 'd';
        });
        engine.spawn(1, [&] {
            order += 'b';
            engine.freeze(2);
            engine.sleep(1us);
            order += 'c';
            engine.thaw(0);
            engine.sleep(1us);
            engine.thaw(2);
        });
        engine.spawn(2, [&] { order += 'e'; });
        EXPECT_EQ(engine.run().ending, Ending::completed);
        EXPECT_EQ(order, "abcde");
    });
}

TEST(Freeze, ShowsInTheDeadlockAndYieldsToKill) {
    play([](Engine& engine) {
        engine.spawn(0, [&] { engine.block({.what = "message"}); });
        engine.call_at(1us, {}, [&] { engine.freeze(0); });
        engine.call_at(2us, {}, [&] { engine.wake(0); });
        const EngineEnd outcome = engine.run();
        EXPECT_EQ(outcome.ending, Ending::deadlock);
        ASSERT_EQ(outcome.waiting.size(), 1u);
        EXPECT_TRUE(outcome.waiting[0].frozen);
        engine.kill(0);
        EXPECT_EQ(engine.run().ending, Ending::completed);
    });
}

TEST(Failure, OfOneActorIsKeptAndStopsNoOther) {
    play([](Engine& engine) {
        bool other = false;
        engine.spawn(0, [&] {
            engine.sleep(1us);
            throw std::runtime_error("CUDA out of memory");
        });
        engine.spawn(1, [&] {
            engine.sleep(2us);
            other = true;
        });
        const EngineEnd outcome = engine.run();
        EXPECT_EQ(outcome.ending, Ending::completed);
        EXPECT_TRUE(other);
        ASSERT_EQ(outcome.failures.size(), 1u);
        EXPECT_EQ(outcome.failures[0].actor, 0u);
        EXPECT_THROW(std::rethrow_exception(outcome.failures[0].error), std::runtime_error);
    });
}

// The handler runs on the stack of the actor that waits: it is not that actor's exception.
TEST(Failure, OfAHandlerEndsTheRunAndReachesNoActor) {
    play([](Engine& engine) {
        bool caught = false;
        engine.spawn(0, [&] {
            try {
                engine.sleep(3us);
            } catch (const std::runtime_error&) {
                caught = true;
            }
        });
        engine.call_at(1us, {nobody, 0, "handler"}, [] { throw std::runtime_error("no memory"); });
        const EngineEnd outcome = engine.run();
        EXPECT_EQ(outcome.ending, Ending::failed);
        EXPECT_FALSE(caught);
        ASSERT_EQ(outcome.failures.size(), 1u);
        EXPECT_EQ(outcome.failures[0].actor, nobody);
    });
}

// libstdc++ keeps handled exceptions per thread: without care, the fiber that leaves its catch block first
// ends the other's.
TEST(Failure, BeingHandledStaysWithItsFiberAcrossWaits) {
    play([](Engine& engine) {
        std::string kept[2];
        for (ActorId id = 0; id < 2; ++id) {
            engine.spawn(id, [&engine, &kept, id] {
                try {
                    throw std::runtime_error("error of " + std::to_string(id));
                } catch (const std::exception&) {
                    engine.sleep(id == 0 ? 3us : 2us);  // the first to catch is the last to leave
                    try {
                        throw;
                    } catch (const std::exception& again) {
                        kept[id] = again.what();
                    }
                }
                EXPECT_EQ(std::current_exception(), nullptr);
            });
        }
        engine.run();
        EXPECT_EQ(kept[0], "error of 0");
        EXPECT_EQ(kept[1], "error of 1");
    });
}

TEST(Close, UnwindsAllThatStillWait) {
    const auto token = std::make_shared<int>(0);
    play([&](Engine& engine) {
        std::string said;
        for (ActorId id = 0; id < 3; ++id) {
            engine.spawn(id, [&engine, &said, token, id] {
                const Says last_words{said, std::to_string(id)};
                if (id == 1) engine.freeze(1);
                engine.block({.what = "nothing"});
            });
        }
        EXPECT_EQ(engine.run().ending, Ending::deadlock);
        engine.spawn(9, [token] { FAIL() << "never had its turn"; });
        engine.close();
        EXPECT_EQ(said, "012");
        EXPECT_EQ(token.use_count(), 1);
        engine.close();
    });
}

}  // namespace
}  // namespace deadrank::sim
