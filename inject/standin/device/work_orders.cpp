// inject/standin/device/work_orders.cpp — Work in the machine's time, and in virtual time.
#include "inject/standin/device/work_orders.h"

#include <algorithm>
#include <thread>
#include <utility>

#include "inject/standin/device/clock.h"

namespace deadrank::inject::standin {

std::uint64_t ThreadedOrder::push(Work work) {
    const std::lock_guard lock(mutex_);
    list_.push_back(std::move(work));
    if (!begun_) {
        begun_ = true;
        device::note_stream_thread();
        std::thread([this] { this->work(); }).detach();
    }
    changed_.notify_all();
    return ++pushed_;
}

void ThreadedOrder::work() {
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

std::uint64_t ThreadedOrder::pushed() const {
    const std::lock_guard lock(mutex_);
    return pushed_;
}

bool ThreadedOrder::done(std::uint64_t number) const {
    const std::lock_guard lock(mutex_);
    return done_ >= number;
}

void ThreadedOrder::wait(std::uint64_t number) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return done_ >= number; });
}

namespace {

thread_local TimedOrder* running_order = nullptr;

}  // namespace

TimedOrder* TimedOrder::running() { return running_order; }

// The lock keeps the order of one stream's work when two threads enqueue. Work may enqueue on its own stream.
std::uint64_t TimedOrder::push(Work work) {
    const std::lock_guard lock(mutex_);
    time_ = std::max(time_, device::host_now());
    TimedOrder* outer = std::exchange(running_order, this);
    work();
    running_order = outer;
    return ++pushed_;
}

std::uint64_t TimedOrder::pushed() const {
    const std::lock_guard lock(mutex_);
    return pushed_;
}

bool TimedOrder::done(std::uint64_t) const { return time() <= device::host_now(); }

void TimedOrder::wait(std::uint64_t) const {
    if (running_order)
        running_order->wait_until(time());
    else
        device::host_wait_until(time());
}

std::int64_t TimedOrder::time() const {
    const std::lock_guard lock(mutex_);
    return time_;
}

void TimedOrder::charge(std::int64_t ns) {
    const std::lock_guard lock(mutex_);
    time_ = std::max(time_, device::host_now()) + std::max<std::int64_t>(ns, 0);
}

void TimedOrder::wait_until(std::int64_t at) {
    const std::lock_guard lock(mutex_);
    time_ = std::max(time_, at);
}

}  // namespace deadrank::inject::standin
