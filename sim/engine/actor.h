// sim/engine/actor.h — What waits and is woken: a rank with a script on a fiber, or one of a crowd that needs
// no stack; and the deadlines of their waits.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/trace_hash.h"

namespace boost::fibers {
class context;
}

namespace deadrank::sim {

// ── What waits and is woken: a rank with a script on a fiber, or one of a crowd that needs no stack.

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

// One cache line per actor.
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
    bool asleep = false;  // ignores wakes, and waits for its deadline
    bool killed = false;
    bool frozen = false;
    bool held = false;  // woken while frozen
};
static_assert(sizeof(Actor) == 64);

// ── The deadline of each actor's wait, in blocks: of a crowd of a million only those that ever wait for a
// time take memory.

// An event's payload is the slot of a handler, or with this bit the number of the wait whose deadline it is.
inline constexpr std::uint32_t deadline_bit = 1u << 31;

// The deadline of an actor's wait, and the one event that stands for it in the queue. A wait that ends
// early leaves its event there; a later deadline needs no other: when it comes up too early it is queued
// again, with the place in the order that the wait was given.
struct Deadline {
    std::int64_t when = 0;
    std::uint64_t order = 0;
    std::int64_t queued_at = 0;
    std::uint32_t queued_number = 0;  // of the wait that the event was made for
    bool queued = false;
};

class Deadlines {
public:
    void clear() {
        for (const auto& block : blocks_) {
            if (block) block->fill({});
        }
    }

    void release() { blocks_.clear(); }

    Deadline& of(ActorId id) {
        if (id / block_size >= blocks_.size()) blocks_.resize(id / block_size + 1);
        auto& block = blocks_[id / block_size];
        if (!block) block = std::make_unique<Block>();
        return (*block)[id % block_size];
    }

private:
    static constexpr std::size_t block_size = 256;
    using Block = std::array<Deadline, block_size>;
    std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace deadrank::sim
