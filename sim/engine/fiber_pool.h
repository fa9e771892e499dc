// sim/engine/fiber_pool.h — Fibers that outlive their scripts: one that has ended its body is parked, and
// takes the next one. A short scenario pays a switch per rank, not a new fiber.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "sim/engine/actor.h"

namespace deadrank::sim {

class Engine;
class Scheduler;
class SlabStacks;

// Lies on the fiber's own stack, on a page that is touched anyway.
struct Fiber {
    FiberContext* context = nullptr;
    ActorId actor = nobody;
    bool leaves = false;
    std::function<void()> body = {};
};

// libstdc++ keeps the exceptions being handled per thread. A fiber that waits inside a catch block must take
// them along, or another fiber's catch block would end the wrong exception.
struct HandledExceptions {
    std::uint64_t words[2] = {};
};

class FiberPool {
public:
    explicit FiberPool(Engine& engine);
    ~FiberPool();
    FiberPool(const FiberPool&) = delete;
    FiberPool& operator=(const FiberPool&) = delete;

    // Prepares for about `expected` fibers with stacks of this size. No fiber may be in use.
    void prepare(std::size_t expected, std::size_t stack_bytes, bool canaries);

    // A fiber that waits for a body: set `actor` and `body`, then switch to it when its turn has come.
    Fiber& take();

    // Suspends the running fiber and goes on with `to`, which is another one.
    void switch_to(FiberContext* to);

    FiberContext* main() { return main_; }
    FiberContext* active() { return active_; }
    std::size_t high_water() const;

private:
    void live();        // what each fiber does, from its first resume to its last
    void retire_all();  // ends the parked fibers and gives their stacks back

    Engine& engine_;
    Scheduler* scheduler_;  // Boost owns it, until the thread ends
    std::unique_ptr<SlabStacks> stacks_;
    std::vector<Fiber*> parked_;
    FiberContext* main_;
    FiberContext* active_;
    FiberContext* creator_ = nullptr;
    Fiber* newborn_ = nullptr;
    bool wants_canaries_ = false;
    bool has_canaries_ = false;
    HandledExceptions* handled_;  // this thread's
};

}  // namespace deadrank::sim
