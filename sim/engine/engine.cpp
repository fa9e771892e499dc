// sim/engine/engine.cpp — The event loop. It runs in place on the stack of the fiber that waits, so that an
// event costs one switch at most.
#include "sim/engine/engine.h"

#include <algorithm>
#include <utility>

#include "scenarios/model/error.h"
#include "sim/engine/fiber_pool.h"

namespace deadrank::sim {

namespace {

constexpr std::size_t few_stale = 128;
constexpr std::size_t few_turns = 4096;
constexpr std::size_t few_actors = 1024;
constexpr std::size_t few_failures = 16;
// How many events ahead memory is fetched: first handlers and actors, then the stacks that the actors name.
constexpr std::size_t handlers_ahead = 8;
constexpr std::size_t stacks_ahead = 3;
constexpr std::ptrdiff_t saved_context_offset = 208;  // in Boost's context; a wrong value costs speed only

}  // namespace

Engine::Engine() : fibers_(std::make_unique<FiberPool>(*this)) { reset(); }

Engine::~Engine() { close(); }

void Engine::reset(const EngineOptions& options) {
    close();
    now_ = 0;
    sequence_ = steps_ = picks_ = 0;
    effort_ = {};
    stale_ = 0;
    queue_.reset(options.queue);
    actions_.clear(std::max(options.actors, few_actors));
    if (actors_.capacity() / 4 > std::max(options.actors, few_actors)) {
        actors_ = {};
        deadlines_.release();
        ready_ = {};
    }
    actors_.clear();
    deadlines_.clear();
    actors_.reserve(options.actors);
    ready_.reserve(options.actors + 1);  // grows on the stack of a fiber otherwise
    trace_.reset();
    explore_.reset();
    if (options.explore_order) explore_.emplace(*options.explore_order, Entity{}, "order");
    watch_ = options.watch;
    watched_.clear();
    failures_.clear();
    failures_.reserve(few_failures);
    fibers_->prepare(options.actors, options.stack_bytes, options.canaries);
}

EngineEnd Engine::run(const Limits& limits) {
    CHECK(current_ == nobody && fibers_->active() == fibers_->main());
    stopped_ = false;
    time_limit_ = limits.until.count();
    step_limit_ = limits.steps > UINT64_MAX - steps_ ? UINT64_MAX : steps_ + limits.steps;
    // Back here when the loop, on whichever stack it ran, found nothing more to do.
    if (FiberContext* first = pump()) fibers_->switch_to(first);

    EngineEnd outcome;
    outcome.ending = ending_;
    outcome.now = now();
    for (ActorId id = 0; living_ > 0 && id < actors_.size(); ++id) {
        const Actor& actor = actors_[id];
        if (actor.state == ActorState::absent || actor.state == ActorState::ended) continue;
        outcome.waiting.push_back({id, actor.wait, actor.frozen});
    }
    outcome.failures = failures_;
    return outcome;
}

// A handler runs on the stack of whichever actor waits: what it throws must not reach that actor.
FiberContext* Engine::pump() noexcept {
    try {
        return pump_events();
    } catch (...) {
        note_failure(nobody);
        current_ = nobody;
        ending_ = Ending::failed;
        return nullptr;
    }
}

FiberContext* Engine::pump_events() {
    const auto over = [this](Ending ending) {
        ending_ = ending;
        return nullptr;
    };
    for (;;) {
        if (stopped_ || closing_) return over(Ending::stopped);
        if (steps_ >= step_limit_) return over(Ending::step_limit);
        if (ready_head_ < ready_.size() && !(explore_ && event_goes_first())) {
            ++steps_;
            if (FiberContext* fiber = pick_ready()) return fiber;
            continue;
        }
        if (living_ == 0) return over(Ending::completed);
        if (queue_.empty()) return over(Ending::deadlock);
        const QueuedEvent event = queue_.pop();
        prefetch_next();
        if (event.payload & deadline_bit) {
            if (!is_due(event)) continue;
        } else if (is_stale(event)) {
            --stale_;
            actions_.release(event.payload);
            continue;
        }
        if (event.time > time_limit_) {
            queue_.push(event);
            if (event.payload & deadline_bit) deadlines_.of(event.target).queued = true;
            now_ = time_limit_;
            return over(Ending::time_limit);
        }
        ++steps_;
        now_ = event.time;
        play(event.order, event.target, event.payload);
    }
}

// Beyond some thousand ranks each event touches cold memory: its handler, its actor, and the actor's stack.
// The next events are known, so their memory is fetched while this one is played.
void Engine::prefetch_next() {
    if (const QueuedEvent* later = queue_.peek_ahead(handlers_ahead)) {
        __builtin_prefetch(&actors_[later->target < actors_.size() ? later->target : 0]);
        if ((later->payload & deadline_bit) == 0) __builtin_prefetch(&actions_.at(later->payload));
    }
    const QueuedEvent* soon = queue_.peek_ahead(stacks_ahead);
    if (!soon || soon->target >= actors_.size()) return;
    const Actor& actor = actors_[soon->target];
    if (!actor.fiber) return;
    __builtin_prefetch(reinterpret_cast<const char*>(actor.fiber) + saved_context_offset);
    for (int line = -4; line <= 4; ++line) __builtin_prefetch(actor.frame + line * 64);
}

void Engine::play(std::uint64_t order, ActorId target, std::uint32_t payload) {
    if (payload & deadline_bit) {
        hash(order, target, payload, "deadline");
        actors_[target].deadline_armed = false;
        make_ready(target, true);
        return;
    }
    const ActionPool::Slot& slot = actions_.at(payload);
    hash(order, target, slot.digest, slot.label);
    actions_.perform(payload);
}

FiberContext* Engine::pick_ready() {
    if (explore_) {
        const std::uint64_t chosen = explore_->below(~picks_++, ready_.size() - ready_head_);
        std::swap(ready_[ready_head_], ready_[ready_head_ + chosen]);
    }
    const ActorId id = ready_[ready_head_++];
    if (ready_head_ == ready_.size()) {
        ready_.clear();
        ready_head_ = 0;
    } else if (ready_head_ >= few_turns && ready_head_ >= ready_.size() / 2) {
        ready_.erase(ready_.begin(), ready_.begin() + static_cast<std::ptrdiff_t>(ready_head_));
        ready_head_ = 0;
    }
    Actor& actor = actors_[id];
    if (actor.frozen && !actor.killed) {
        actor.state = ActorState::waiting;
        actor.held = true;
        return nullptr;
    }
    if (!actor.fiber) {
        step_stackless(id);
        return nullptr;
    }
    actor.state = ActorState::running;
    current_ = id;
    return actor.fiber;
}

// Whether an event of this very moment overtakes the actors already woken: a legal order too.
bool Engine::event_goes_first() {
    if (queue_.empty()) return false;
    const QueuedEvent event = queue_.pop();
    queue_.push(event);
    return event.time == now_ && explore_->ratio(~picks_++, 1, 2);
}

std::uint64_t Engine::next_order() {
    const std::uint64_t order = sequence_++;
    if (!explore_) return order;
    return order | explore_->at(order) >> QueuedEvent::sequence_bits << QueuedEvent::sequence_bits;
}

void Engine::schedule(std::int64_t when, ActorId target, std::uint32_t payload) {
    CHECK(when >= now_);
    queue_.push({when, next_order(), target, payload});
}

void Engine::set_deadline(ActorId id, std::int64_t when) {
    Deadline& deadline = deadlines_.of(id);
    deadline.when = when;
    deadline.order = next_order();
    actors_[id].deadline_armed = true;
    if (deadline.queued && deadline.queued_at <= when) return;
    const bool orphaned = std::exchange(deadline.queued, true);  // comes later, and means nothing by then
    queue_deadline(id, deadline);
    if (!orphaned) return;
    ++stale_;
    sweep_stale();
}

void Engine::queue_deadline(ActorId id, Deadline& deadline) {
    deadline.queued = true;
    deadline.queued_at = deadline.when;
    deadline.queued_number = actors_[id].wait_number;
    queue_.push({deadline.when, deadline.order, id, deadline_bit | deadline.queued_number});
}

// Of an event that is no longer in the queue: whether the deadline that it stands for has come.
bool Engine::is_due(const QueuedEvent& event) {
    if (is_stale(event)) {
        --stale_;
        return false;
    }
    Deadline& deadline = deadlines_.of(event.target);
    deadline.queued = false;
    const Actor& actor = actors_[event.target];
    if (!actor.deadline_armed) return false;
    if ((actor.wait_number | deadline_bit) == event.payload) return true;
    queue_deadline(event.target, deadline);
    return false;
}

bool Engine::is_stale(const QueuedEvent& event) {
    if ((event.payload & deadline_bit) == 0) return actions_.at(event.payload).act == nullptr;
    const Deadline& deadline = deadlines_.of(event.target);
    return !deadline.queued || (deadline.queued_number | deadline_bit) != event.payload;
}

// Time-outs that never fire, minutes ahead, would otherwise outnumber what is to happen.
void Engine::sweep_stale() {
    if (stale_ < few_stale || stale_ < queue_.size() / 2) return;
    queue_.remove_if([this](const QueuedEvent& event) {
        if (!is_stale(event)) return false;
        if ((event.payload & deadline_bit) == 0) actions_.release(event.payload);
        return true;
    });
    stale_ = 0;
}

bool Engine::cancel(TimerId timer) {
    if (timer.slot == UINT32_MAX) return false;
    const ActionPool::Slot& slot = actions_.at(timer.slot);
    if (slot.generation != timer.generation || !slot.act) return false;
    actions_.call_off(timer.slot);
    ++stale_;
    sweep_stale();
    return true;
}

void Engine::hash(std::uint64_t order, ActorId target, std::uint64_t digest, const char* label) {
    const std::uint64_t index = trace_.events();
    const auto time = static_cast<std::uint64_t>(now_);
    trace_.add(time, order, target, digest);
    if (target < actors_.size()) {
        // Without the global order: an actor's own hash changes only when what happened to it did.
        std::uint64_t& own = actors_[target].hash;
        own = trace_step(own, time, 0, target, digest);
    }
    if (index - watch_.first < watch_.last - watch_.first)
        watched_.push_back({index, now(), {target, digest, label}});
}

std::uint64_t Engine::trace_of(ActorId id) const {
    return id < actors_.size() ? actors_[id].hash : trace_hash_start;
}

std::size_t Engine::stack_high_water() const { return fibers_->high_water(); }

}  // namespace deadrank::sim
