// inject/standin/device/work_orders.h — The two ways in which a stream orders its work.
#pragma once

#include <deque>

#include "inject/standin/device/stream.h"

namespace deadrank::inject::standin {

// The thread lives as long as the process: work that never completes must not keep a program from ending.
class ThreadedOrder final : public WorkOrder {
public:
    std::uint64_t push(Work work) override;
    std::uint64_t pushed() const override;
    bool done(std::uint64_t number) const override;
    void wait(std::uint64_t number) const override;

private:
    void work();

    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::deque<Work> list_;
    std::uint64_t pushed_ = 0, done_ = 0;
    bool begun_ = false;
};

// Only the time at which all work will have ended is kept, so waiting for an earlier work waits for all.
class TimedOrder final : public WorkOrder {
public:
    // The stream whose work the calling thread is doing; null: the host itself.
    static TimedOrder* running();

    std::uint64_t push(Work work) override;
    std::uint64_t pushed() const override;
    bool done(std::uint64_t number) const override;
    void wait(std::uint64_t number) const override;
    std::int64_t time() const override;
    void charge(std::int64_t ns) override;
    void wait_until(std::int64_t at) override;

private:
    mutable std::recursive_mutex mutex_;
    std::uint64_t pushed_ = 0;
    std::int64_t time_ = 0;
};

}  // namespace deadrank::inject::standin
