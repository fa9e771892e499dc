// sim/engine/queue.cpp — Emptying the queue, and its turn from the heap to the wheel: the rare operations.
#include "sim/engine/queue.h"

#include <limits>

namespace deadrank::sim {

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
