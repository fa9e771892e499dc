// sim/engine/actor.h — Whoever waits and is woken: a rank with a script on a fiber, or one of a crowd that
// needs no stack.
#pragma once

#include <cstdint>

#include "sim/engine/trace_hash.h"

namespace boost::fibers {
class context;
}

namespace deadrank::sim {

using FiberContext = boost::fibers::context;
using ActorId = std::uint32_t;  // ranks are 0 to world size - 1; agents and helpers follow
inline constexpr ActorId nobody = UINT32_MAX;

// Thrown out of a wait when the actor is killed. Not a std::exception, so that a script's error handling lets
// it pass; destructors run, but an actor being killed can wait no more.
struct ActorKilled {};

// What an actor waits for: in words, and for whom where that is one actor. Shown when nothing can happen any
// more.
struct Wait {
    const char* what = "";  // outlives the wait
    ActorId on = nobody;
    std::uint64_t detail = 0;  // the caller's own: a communicator and sequence number, for instance
};

// A script without a stack: called each time it is woken, says what it waits for next, and returns.
class StacklessActor {
public:
    virtual ~StacklessActor() = default;
    virtual void woken(ActorId self) = 0;
};

enum class ActorState : std::uint8_t { absent, ready, running, waiting, ended };

// One cache line an actor.
struct alignas(64) Actor {
    FiberContext* fiber = nullptr;  // null: an actor without a stack
    union {
        StacklessActor* stackless = nullptr;
        const char* frame;  // where on its stack the fiber waits
    };
    Wait wait;
    std::uint64_t hash = trace_hash_start;
    std::uint32_t wait_number = 0;  // a deadline is stale unless it carries the number of the present wait
    std::uint32_t incarnation = 0;
    ActorState state = ActorState::absent;
    bool deadline_armed = false;
    bool timed_out = false;
    bool asleep = false;  // hears no wake, only its deadline
    bool killed = false;
    bool frozen = false;
    bool held = false;  // woken while frozen
};
static_assert(sizeof(Actor) == 64);

}  // namespace deadrank::sim
