// inject/standin/device/stream.h — A stream is a list of work, done in order by a thread of its own that
// begins with the first work. An event is a mark in such a list: what is waited for is the last record before
// the wait.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>

namespace deadrank::inject::standin {

class Stream {
public:
    using Work = std::function<void()>;

    Stream(int of, unsigned with, int urgency) : device(of), flags(with), priority(urgency) {}

    // Its number; done(number) tells whether it and all before it are done.
    std::uint64_t push(Work work);
    bool done(std::uint64_t number) const;
    bool idle() const;
    void drain() const;
    void wait(std::uint64_t number) const;
    std::uint64_t pushed() const;

    const int device;
    const unsigned flags;
    const int priority;

private:
    void work();

    mutable std::mutex mutex_;
    mutable std::condition_variable changed_;
    std::deque<Work> list_;
    std::uint64_t pushed_ = 0, done_ = 0;
    bool begun_ = false;
};

class Event {
public:
    explicit Event(unsigned with) : flags(with) {}

    // The mark itself, to be pushed at once: waits that are made from now on mean this one.
    Stream::Work record();
    bool done() const;
    void wait() const;
    // What makes a stream wait for the last record; nothing when there was none.
    Stream::Work barrier() const;
    bool recorded() const;
    std::chrono::steady_clock::time_point when() const;

    const unsigned flags;

private:
    struct State {
        mutable std::mutex mutex;
        std::condition_variable changed;
        std::uint64_t recorded = 0, completed = 0;
        std::chrono::steady_clock::time_point when;
    };
    // Shared with the work that completes it: a program may destroy an event that is still to come.
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace deadrank::inject::standin
