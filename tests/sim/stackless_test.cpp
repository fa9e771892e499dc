// tests/sim/stackless_test.cpp — Goal: an actor without a stack lives by the same rules as one with a fiber.
#include <gtest/gtest.h>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/engine/stage.h"
#include "tests/sim/ring.h"
#include "tests/sim/stackless_ring.h"

namespace deadrank::sim {
namespace {

using namespace std::chrono_literals;

TEST(StacklessActor, GivesTheSameRunAsAFiber) {
    on_stage([](Engine& engine) {
        engine.reset({.actors = 1'000});
        rig::Ring ring(engine, 1'000, 200);
        ring.spawn();
        engine.run();
        const std::uint64_t by_fibers = engine.trace().value();

        engine.reset({.actors = 1'000});
        rig::Ring same(engine, 1'000, 200);
        rig::StacklessRing crowd(engine, same, 1'000);
        crowd.spawn();
        EXPECT_EQ(engine.run().ending, Ending::completed);
        EXPECT_EQ(engine.trace().value(), by_fibers);
    });
}

struct Recorder final : StacklessActor {
    explicit Recorder(Engine& its_engine) : engine(its_engine) {}
    void woken(ActorId self) override {
        times.push_back(engine.now());
        timed_out.push_back(engine.timed_out(self));
        if (times.size() == stays_for) return engine.finish(self);
        engine.await(self, {.what = "message", .on = 3}, engine.now() + 10us);
    }
    Engine& engine;
    std::size_t stays_for = 3;
    std::vector<Time> times;
    std::vector<bool> timed_out;
};

TEST(StacklessActor, WaitsWithDeadlines) {
    on_stage([](Engine& engine) {
        engine.reset();
        Recorder recorder(engine);
        engine.spawn(0, recorder);
        engine.call_at(4us, {}, [&] { engine.wake(0); });
        EXPECT_EQ(engine.run().ending, Ending::completed);
        EXPECT_EQ(recorder.times, (std::vector<Time>{0us, 4us, 14us}));
        EXPECT_EQ(recorder.timed_out, (std::vector<bool>{false, false, true}));
    });
}

TEST(StacklessActor, IsKilledFrozenAndReportedLikeAnyOther) {
    on_stage([](Engine& engine) {
        engine.reset();
        Recorder killed(engine);
        Recorder frozen(engine);
        killed.stays_for = frozen.stays_for = 100;
        engine.spawn(0, killed);
        engine.spawn(1, frozen);
        engine.call_at(15us, {}, [&] {
            engine.kill(0);
            engine.freeze(1);
        });
        const EngineEnd outcome = engine.run();
        EXPECT_EQ(outcome.ending, Ending::deadlock);
        EXPECT_EQ(engine.state(0), ActorState::ended);
        EXPECT_EQ(killed.times.size(), 2u);
        ASSERT_EQ(outcome.waiting.size(), 1u);
        EXPECT_TRUE(outcome.waiting[0].frozen);
        EXPECT_EQ(outcome.waiting[0].wait.on, 3u);
        engine.thaw(1);
        EXPECT_EQ(engine.run({.steps = 1}).ending, Ending::step_limit);
        EXPECT_EQ(frozen.times.size(), 3u);
    });
}

TEST(StacklessActor, LivesBesideFibers) {
    on_stage([](Engine& engine) {
        engine.reset();
        Recorder recorder(engine);
        recorder.stays_for = 2;
        engine.spawn(0, recorder);
        engine.spawn(1, [&] {
            engine.sleep(2us);
            engine.wake(0);
        });
        EXPECT_EQ(engine.run().ending, Ending::completed);
        EXPECT_EQ(recorder.times.back(), 2us);
    });
}

}  // namespace
}  // namespace deadrank::sim
