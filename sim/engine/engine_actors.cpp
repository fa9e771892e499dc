// sim/engine/engine_actors.cpp — The life of an actor: spawned, waiting, woken, frozen, killed, ended.
#include <algorithm>
#include <utility>

#include "scenarios/model/error.h"
#include "sim/engine/engine.h"
#include "sim/engine/fiber_pool.h"

namespace deadrank::sim {

namespace {

constexpr unsigned swallowed_kills = 1000;

}  // namespace

Actor& Engine::admit(ActorId id) {
    CHECK(id != nobody && !closing_);
    if (id >= actors_.size()) actors_.resize(std::size_t{id} + 1);
    Actor& actor = actors_[id];
    CHECK(actor.state == ActorState::absent || actor.state == ActorState::ended);
    if (actor.state == ActorState::ended) ++actor.incarnation;
    actor.killed = actor.frozen = actor.held = actor.timed_out = false;
    actor.wait = {.what = "its turn to start"};
    actor.state = ActorState::ready;
    ++living_;
    ready_.push_back(id);
    return actor;
}

void Engine::spawn(ActorId id, std::function<void()> body) {
    Fiber& fiber = fibers_->take();
    fiber.actor = id;
    fiber.body = std::move(body);
    admit(id).fiber = fiber.context;
}

void Engine::spawn(ActorId id, StacklessActor& body) { admit(id).stackless = &body; }

bool Engine::suspend(const char* what, ActorId on, std::uint64_t detail, std::int64_t deadline) {
    const ActorId id = current_;
    CHECK(id != nobody && actors_[id].fiber);
    if (actors_[id].killed) {
        CHECK(++kills_thrown_ < swallowed_kills);
        throw ActorKilled{};
    }
    start_waiting(id, what, on, detail, deadline);
    current_ = nobody;
    actors_[id].frame = static_cast<const char*>(__builtin_frame_address(0));
    go_on_from(actors_[id].fiber);
    const Actor& self = actors_[id];
    if (self.killed) throw ActorKilled{};
    return !self.timed_out;
}

// Goes on with the actor that is next; returns when that is `own`, perhaps without any switch.
void Engine::go_on_from(const FiberContext* own) {
    FiberContext* next = pump();
    if (next == own) return;
    fibers_->switch_to(next ? next : fibers_->main());
}

void Engine::start_waiting(ActorId id, const char* what, ActorId on, std::uint64_t detail,
                           std::int64_t deadline) {
    Actor& actor = actors_[id];
    actor.state = ActorState::waiting;
    actor.wait.what = what;
    actor.wait.on = on;
    actor.wait.detail = detail;
    actor.timed_out = false;
    if (deadline == never.count()) return;
    set_deadline(id, std::max(deadline, now_));
}

void Engine::sleep_until(Time when) {
    if (when <= now()) return;
    CHECK(current_ != nobody);
    const ActorId id = current_;
    actors_[id].asleep = true;
    suspend("sleep", nobody, 0, when.count());
}

void Engine::yield_turn() {
    CHECK(current_ != nobody);
    actors_[current_].asleep = true;
    suspend("its next turn", nobody, 0, now_);
}

void Engine::wake(ActorId id) {
    if (id >= actors_.size()) return;
    const Actor& actor = actors_[id];
    if (actor.state == ActorState::waiting && !actor.asleep) make_ready(id, false);
}

// The end of a wait, by a wake or by its deadline. The first of both decides, also while the actor is frozen.
void Engine::make_ready(ActorId id, bool timed_out) {
    Actor& actor = actors_[id];
    if (actor.held) return;
    actor.timed_out = timed_out;
    actor.wait_number = (actor.wait_number + 1) & ~deadline_bit;
    actor.asleep = false;
    actor.deadline_armed = false;
    if (actor.frozen && !actor.killed) {
        actor.held = true;
        return;
    }
    actor.state = ActorState::ready;
    ready_.push_back(id);
}

void Engine::step_stackless(ActorId id) {
    if (!actors_[id].killed) {
        actors_[id].state = ActorState::running;
        actors_[id].wait = {};
        current_ = id;
        actors_[id].stackless->woken(id);
        current_ = nobody;
    }
    Actor& actor = actors_[id];
    if (actor.state == ActorState::ended) return;
    if (actor.killed) {
        end(id);
    } else if (actor.state == ActorState::running) {
        start_waiting(id, "", nobody, 0, never.count());
    }
}

void Engine::await(ActorId id, const Wait& wait, Time deadline) {
    CHECK(current_ == id && !actors_[id].fiber && actors_[id].state == ActorState::running);
    start_waiting(id, wait.what, wait.on, wait.detail, deadline.count());
}

bool Engine::timed_out(ActorId id) const { return id < actors_.size() && actors_[id].timed_out; }

void Engine::finish(ActorId id) {
    CHECK(current_ == id && !actors_[id].fiber);
    end(id);
}

void Engine::freeze(ActorId id) {
    if (id >= actors_.size()) return;
    actors_[id].frozen = true;
    if (id != current_ || !actors_[id].fiber) return;
    // It stops where it is, as if woken already: thaw() lets it go on.
    actors_[id].held = true;
    suspend("stopped", nobody, 0, never.count());
}

void Engine::thaw(ActorId id) {
    if (id >= actors_.size()) return;
    Actor& actor = actors_[id];
    actor.frozen = false;
    if (!std::exchange(actor.held, false)) return;
    actor.state = ActorState::ready;
    ready_.push_back(id);
}

void Engine::kill(ActorId id) {
    const ActorState now_is = state(id);
    if (now_is == ActorState::absent || now_is == ActorState::ended) return;
    Actor& actor = actors_[id];
    actor.killed = true;
    if (now_is == ActorState::running) {
        if (actor.fiber) throw ActorKilled{};
        return;  // a stackless actor ends when it returns
    }
    if (now_is != ActorState::waiting) return;
    actor.held = false;
    if (actor.fiber) {
        make_ready(id, false);
    } else {
        end(id);
    }
}

void Engine::perform_body(Fiber& fiber) noexcept {
    const ActorId id = fiber.actor;
    {
        const std::function<void()> body = std::exchange(fiber.body, nullptr);
        try {
            if (!actors_[id].killed) body();
        } catch (const ActorKilled&) {
        } catch (...) {
            note_failure(id);
        }
    }
    current_ = nobody;
    end(id);
}

// The first one alone is kept where there is no memory for another.
void Engine::note_failure(ActorId id) noexcept {
    if (failures_.size() < failures_.capacity()) failures_.push_back({id, std::current_exception()});
}

void Engine::end(ActorId id) {
    Actor& actor = actors_[id];
    actor.state = ActorState::ended;
    actor.fiber = nullptr;
    actor.stackless = nullptr;
    actor.asleep = false;
    actor.deadline_armed = false;
    actor.wait_number = (actor.wait_number + 1) & ~deadline_bit;
    kills_thrown_ = 0;
    --living_;
}

void Engine::close() {
    CHECK(current_ == nobody && fibers_->active() == fibers_->main());
    closing_ = true;
    for (ActorId id = 0; living_ > 0 && id < actors_.size(); ++id) {
        Actor& actor = actors_[id];
        if (actor.state == ActorState::absent || actor.state == ActorState::ended) continue;
        if (!actor.fiber) {
            end(id);
            continue;
        }
        actor.killed = true;
        actor.state = ActorState::running;
        current_ = id;
        fibers_->switch_to(actor.fiber);
        CHECK(actors_[id].state == ActorState::ended);
    }
    ready_.clear();
    ready_head_ = 0;
    closing_ = false;
}

ActorState Engine::state(ActorId id) const {
    return id < actors_.size() ? actors_[id].state : ActorState::absent;
}

std::uint32_t Engine::incarnation(ActorId id) const {
    return id < actors_.size() ? actors_[id].incarnation : 0;
}

}  // namespace deadrank::sim
