// inject/standin/device/stream.cpp — Streams and events over either kind of time.
#include "inject/standin/device/stream.h"

#include "inject/standin/device/clock.h"
#include "inject/standin/device/work_orders.h"

namespace deadrank::inject::standin {

WorkOrder& Stream::order() const {
    std::call_once(chosen_, [this] {
        if (device::time_is_virtual())
            order_ = std::make_unique<TimedOrder>();
        else
            order_ = std::make_unique<ThreadedOrder>();
    });
    return *order_;
}

Stream::Work Event::record() {
    std::uint64_t number = 0;
    {
        const std::lock_guard lock(state_->mutex);
        number = ++state_->recorded;
    }
    return [state = state_, number] {
        const TimedOrder* stream = TimedOrder::running();
        const std::lock_guard lock(state->mutex);
        state->completed = number;
        state->when = stream ? stream->time() : device::host_now();
        state->changed.notify_all();
    };
}

bool Event::done() const {
    const std::lock_guard lock(state_->mutex);
    if (state_->completed < state_->recorded) return false;
    return !device::time_is_virtual() || state_->when <= device::host_now();
}

bool Event::recorded() const {
    const std::lock_guard lock(state_->mutex);
    return state_->recorded > 0;
}

std::int64_t Event::when() const {
    const std::lock_guard lock(state_->mutex);
    return state_->when;
}

Stream::Work Event::barrier() const {
    const std::lock_guard lock(state_->mutex);
    return [state = state_, number = state_->recorded] {
        std::unique_lock inner(state->mutex);
        state->changed.wait(inner, [&] { return state->completed >= number; });
        if (!device::time_is_virtual()) return;
        if (TimedOrder* stream = TimedOrder::running())
            stream->wait_until(state->when);
        else
            device::host_wait_until(state->when);
    };
}

void Event::wait() const { barrier()(); }

}  // namespace deadrank::inject::standin
