// inject/standin/device/stream.cpp — The thread of a stream lives as long as the process: work that never
// completes must not keep a program from ending.
#include "inject/standin/device/stream.h"

#include <thread>

namespace deadrank::inject::standin {

std::uint64_t Stream::push(Work work) {
    const std::lock_guard lock(mutex_);
    list_.push_back(std::move(work));
    if (!begun_) {
        begun_ = true;
        std::thread([this] { this->work(); }).detach();
    }
    changed_.notify_all();
    return ++pushed_;
}

void Stream::work() {
    std::unique_lock lock(mutex_);
    while (true) {
        changed_.wait(lock, [&] { return !list_.empty(); });
        const Work next = std::move(list_.front());
        list_.pop_front();
        lock.unlock();
        next();
        lock.lock();
        ++done_;
        changed_.notify_all();
    }
}

bool Stream::done(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    return done_ >= number;
}

bool Stream::idle() const {
    const std::lock_guard lock(mutex_);
    return done_ >= pushed_;
}

std::uint64_t Stream::pushed() const {
    const std::lock_guard lock(mutex_);
    return pushed_;
}

void Stream::wait(std::uint64_t number) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= number; });
}

void Stream::drain() const { wait(pushed()); }

Stream::Work Event::record() {
    std::uint64_t number = 0;
    {
        const std::lock_guard lock(state_->mutex);
        number = ++state_->recorded;
    }
    return [state = state_, number] {
        const std::lock_guard lock(state->mutex);
        state->completed = number;
        state->when = std::chrono::steady_clock::now();
        state->changed.notify_all();
    };
}

bool Event::done() const {
    const std::lock_guard lock(state_->mutex);
    return state_->completed >= state_->recorded;
}

bool Event::recorded() const {
    const std::lock_guard lock(state_->mutex);
    return state_->recorded > 0;
}

std::chrono::steady_clock::time_point Event::when() const {
    const std::lock_guard lock(state_->mutex);
    return state_->when;
}

Stream::Work Event::barrier() const {
    const std::lock_guard lock(state_->mutex);
    return [state = state_, number = state_->recorded] {
        std::unique_lock inner(state->mutex);
        state->changed.wait(inner, [&] { return state->completed >= number; });
    };
}

void Event::wait() const { barrier()(); }

}  // namespace deadrank::inject::standin
