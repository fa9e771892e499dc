// sim/engine/scheduler.cpp — The rare paths of the scheduling algorithm.
#include "sim/engine/scheduler.h"

#include <limits>

#include "scenarios/model/error.h"
#include "sim/engine/queue.h"

namespace deadrank::sim {

void Scheduler::suspend_until(const std::chrono::steady_clock::time_point&) noexcept {
    // Only a real-time wait of Boost.Fiber leads here, and no rank may use one.
    CHECK(!"a fiber waits in real time");
}

void Scheduler::run_dispatcher() {
    if (!dispatcher_) return;
    Context* main = Context::active();
    CHECK(main->is_context(boost::fibers::type::main_context));
    set_next(main);
    std::exchange(dispatcher_, nullptr)->resume();
}

namespace {

constexpr std::size_t automatic_threshold = 16;

}  // namespace

void EventQueue::reset(QueueKind kind) {
    heap_.clear();
    wheel_.clear();
    on_wheel_ = kind == QueueKind::wheel;
    turn_to_wheel_at_ =
        kind == QueueKind::automatic ? automatic_threshold : std::numeric_limits<std::size_t>::max();
}

void EventQueue::turn_to_wheel() {
    wheel_.adopt(heap_.release());
    on_wheel_ = true;
}

}  // namespace deadrank::sim
