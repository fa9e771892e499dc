// sim/engine/engine.h — The event loop in virtual time: actors that wait and are woken, and handlers called
// at a time. One thread, one simulation at a time, and nothing that asks the machine: the same calls give the
// same run and trace hash.
#pragma once

#include <cstdint>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "results/record/time.h"
#include "sim/engine/action_pool.h"
#include "sim/engine/actor.h"
#include "sim/engine/effort.h"
#include "sim/engine/queue.h"
#include "sim/engine/rng.h"
#include "sim/engine/trace_hash.h"

namespace deadrank::sim {

class FiberPool;
struct Fiber;
using results::never;
using results::Time;

struct EngineOptions {
    std::size_t actors = 0;  // how many are expected; more may be spawned
    // Address space a fiber; only touched pages cost memory. 16 KiB do for bodies that format no text.
    std::size_t stack_bytes = 64 << 10;
    // Canary words below the stacks even where the kernel has guard pages.
    bool canaries = false;
    QueueKind queue = QueueKind::automatic;
    // When set, ties in time are broken at random, and so is the order of actors woken together.
    std::optional<Seed> explore_order = {};
    // Events [first, last) of the run are kept for watched().
    TraceWindow watch = {0, 0};
};

struct Limits {
    Time until = never;                // no event after this time is played
    std::uint64_t steps = UINT64_MAX;  // events plus turns of actors: bounds a loop that lets no time pass
};

// failed: a handler threw, and nothing after it was played.
enum class Ending { completed, deadlock, time_limit, step_limit, stopped, failed };

struct EngineEnd {
    struct Waiting {
        ActorId actor = nobody;
        Wait wait;
        bool frozen = false;
    };
    struct Failure {
        ActorId actor = nobody;
        std::exception_ptr error;
    };

    Ending ending = Ending::completed;
    Time now{0};
    std::vector<Waiting> waiting = {};   // who has not ended, by id
    std::vector<Failure> failures = {};  // exceptions that a body or a handler (of nobody) let escape
};

// Whom an event concerns, and what identifies it in the trace. The label is for people; it outlives the run.
struct Cause {
    ActorId target = nobody;
    std::uint64_t digest = 0;
    const char* label = "";
};

// Names a handler to come. Stale handles are harmless.
struct TimerId {
    std::uint32_t slot = UINT32_MAX;
    std::uint32_t generation = 0;
};

struct WatchedEvent {
    std::uint64_t index = 0;  // its place in the run, from 0
    Time time{0};
    Cause cause;
};

class Engine {
public:
    // Installs the scheduling algorithm on this thread, for good: use on_stage() of sim/engine/stage.h.
    Engine();
    ~Engine();
    Engine(const Engine&) = delete;
    Engine& operator=(const Engine&) = delete;

    // ── A simulation's life: called from the stage's own function, never from an actor or a handler.

    // Closes what ran before. Time, hashes and sequence start anew.
    void reset(const EngineOptions& options = {});
    // Until all actors ended, or nothing is left to happen, or a limit. May be called again to go on.
    EngineEnd run(const Limits& limits = {});
    // Unwinds every actor that still waits, by ActorKilled. Call it before what their bodies use is gone.
    void close();
    // Bytes of the deepest stack so far.
    std::size_t stack_high_water() const;

    // ── Events.

    Time now() const { return Time(now_); }

    // `handler()` is called at `when`, which is not in the past, on whatever stack is at hand: it must not
    // wait, throw, or need deep stack. Trivially copyable callables up to 32 bytes cost no allocation.
    template <class F>
    TimerId call_at(Time when, const Cause& cause, F&& handler) {
        const std::uint32_t slot = actions_.add(cause.label, cause.digest, std::forward<F>(handler));
        const std::uint32_t generation = actions_.at(slot).generation;
        schedule(when.count(), cause.target, slot);
        return {slot, generation};
    }
    template <class F>
    TimerId call_after(Time delay, const Cause& cause, F&& handler) {
        return call_at(now() + delay, cause, std::forward<F>(handler));
    }
    // False: it was called already, or called off.
    bool cancel(TimerId timer);
    // Hashes something seen now that is no event of its own: a result, a line of evidence.
    void note(const Cause& observed) {
        hash(~std::uint64_t{0}, observed.target, observed.digest, observed.label);
    }
    // run() returns after the present event.
    void stop() { stopped_ = true; }

    // ── Actors.

    // A script on a fiber. It starts at this time, after those woken before it.
    void spawn(ActorId id, std::function<void()> body);
    // A script without a stack. woken(id) is its start, too; `body` outlives the simulation.
    void spawn(ActorId id, StacklessActor& body);
    // It goes on at this same time. No-op unless it waits, and for sleepers.
    void wake(ActorId id);
    // SIGSTOP: nothing resumes it, and wakes are held. On itself it takes effect at once.
    void freeze(ActorId id);
    // SIGCONT.
    void thaw(ActorId id);
    // SIGKILL: its wait throws ActorKilled; on itself it throws here. It has ended once it unwound.
    void kill(ActorId id);
    // The actor that runs; none in a handler and in the stage's function.
    ActorId current() const { return current_; }

    // ── Waiting, for the current fiber. Wakes may be spurious, so wait in a loop over the condition. All
    // throw ActorKilled.

    void block(const Wait& wait) { suspend(wait.what, wait.on, wait.detail, never.count()); }
    // False: the deadline came first.
    bool block_until(Time deadline, const Wait& wait) {
        return suspend(wait.what, wait.on, wait.detail, deadline.count());
    }
    // Returns at once when `when` is not in the future.
    void sleep_until(Time when);
    void sleep(Time duration) { sleep_until(now() + duration); }
    // Whoever is due at this moment goes first.
    void yield_turn();

    // ── Waiting, for a stackless actor: said before woken() returns. Without, it waits for a wake.

    void await(ActorId id, const Wait& wait, Time deadline = never);
    // Whether its last wait ended by the deadline.
    bool timed_out(ActorId id) const;
    void finish(ActorId id);

    // ── What is known.

    ActorState state(ActorId id) const;
    // 0 in the first life; each further spawn adds one.
    std::uint32_t incarnation(ActorId id) const;
    Entity entity(ActorId id) const { return {id, incarnation(id)}; }
    const TraceHash& trace() const { return trace_; }
    std::uint64_t trace_of(ActorId id) const;
    const std::vector<WatchedEvent>& watched() const { return watched_; }
    // Events and turns of actors since the run began, and what else it counted: what it costs, without a
    // clock.
    std::uint64_t steps() const { return steps_; }
    Effort& effort() { return effort_; }

private:
    friend class FiberPool;

    void schedule(std::int64_t when, ActorId target, std::uint32_t payload);
    std::uint64_t next_order();
    void set_deadline(ActorId id, std::int64_t when);
    void queue_deadline(ActorId id, Deadline& deadline);
    bool is_due(const QueuedEvent& event);
    FiberContext* pump() noexcept;  // the event loop: whose turn it is, or null when the run is over
    FiberContext* pump_events();
    void note_failure(ActorId id) noexcept;
    void prefetch_next();
    FiberContext* pick_ready();
    bool event_goes_first();
    void play(std::uint64_t order, ActorId target, std::uint32_t payload);
    bool is_stale(const QueuedEvent& event);
    void sweep_stale();
    void hash(std::uint64_t order, ActorId target, std::uint64_t digest, const char* label);

    // The fields of a Wait travel in registers: copying it through memory stalled each wait by a dozen
    // cycles.
    bool suspend(const char* what, ActorId on, std::uint64_t detail, std::int64_t deadline);
    void start_waiting(ActorId id, const char* what, ActorId on, std::uint64_t detail, std::int64_t deadline);
    void make_ready(ActorId id, bool timed_out);
    void step_stackless(ActorId id);
    void perform_body(Fiber& fiber) noexcept;
    void go_on_from(const FiberContext* own);
    Actor& admit(ActorId id);
    void end(ActorId id);

    std::int64_t now_ = 0;
    std::uint64_t sequence_ = 0;
    ActorId current_ = nobody;
    bool stopped_ = false;
    bool closing_ = false;
    unsigned kills_thrown_ = 0;  // since an actor ended: bounds a script that swallows its own death
    Ending ending_ = Ending::completed;
    std::uint64_t steps_ = 0;
    Effort effort_;
    std::uint64_t step_limit_ = UINT64_MAX;
    std::int64_t time_limit_ = never.count();
    std::size_t living_ = 0;
    std::size_t stale_ = 0;  // events in the queue that no longer mean anything

    EventQueue queue_;
    ActionPool actions_;
    std::vector<Actor> actors_;
    Deadlines deadlines_;
    std::vector<ActorId> ready_;  // woken, in order; those before ready_head_ had their turn
    std::size_t ready_head_ = 0;
    TraceHash trace_;
    std::optional<Chance> explore_;
    std::uint64_t picks_ = 0;
    TraceWindow watch_{0, 0};
    std::vector<WatchedEvent> watched_;
    std::vector<EngineEnd::Failure> failures_;
    std::unique_ptr<FiberPool> fibers_;
};

}  // namespace deadrank::sim
