// sim/engine/scheduler.h — The Boost.Fiber scheduling algorithm of a stage. It never chooses: the event loop
// has chosen already. Two traps: the active context is never returned, and the dispatcher is kept aside until
// it is asked for.
#pragma once

#include <boost/fiber/algo/algorithm.hpp>
#include <boost/fiber/context.hpp>
#include <chrono>
#include <utility>

namespace deadrank::sim {

class Scheduler final : public boost::fibers::algo::algorithm {
public:
    using Context = boost::fibers::context;

    void awakened(Context* context) noexcept override {
        if (context->is_context(boost::fibers::type::dispatcher_context)) {
            dispatcher_ = context;
        } else if (context->is_context(boost::fibers::type::worker_context)) {
            started_ = context;
        }
    }

    // Reached when a fiber ends, by the dispatcher, and when the thread ends.
    Context* pick_next() noexcept override {
        if (next_) return std::exchange(next_, nullptr);
        return std::exchange(dispatcher_, nullptr);
    }

    bool has_ready_fibers() const noexcept override { return next_ || dispatcher_; }
    void suspend_until(const std::chrono::steady_clock::time_point&) noexcept override;
    void notify() noexcept override {}

    // The fiber that was created last, which Boost announces through awakened().
    Context* take_started() { return std::exchange(started_, nullptr); }

    // What pick_next() is to return, once.
    void set_next(Context* context) { next_ = context; }

    // Lets the dispatcher release the stacks of fibers that ended, then comes back. From the main context
    // only; without it memory grows with each fiber that ever was.
    void run_dispatcher();

private:
    Context* next_ = nullptr;
    Context* started_ = nullptr;
    Context* dispatcher_ = nullptr;
};

}  // namespace deadrank::sim
