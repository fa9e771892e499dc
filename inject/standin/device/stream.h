// inject/standin/device/stream.h — A stream is a list of work, done in order. An event is a mark in such a
// list: a wait means the last record before the wait.
//
// In the machine's time a thread does the work, and begins with the first. In virtual time (clock.h) work is
// done at once by the thread that enqueues it, and the stream keeps the time at which the work will have
// ended.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>

namespace deadrank::inject::standin {

// How a stream orders its work: one implementation for each kind of time.
class WorkOrder {
public:
    using Work = std::function<void()>;

    virtual ~WorkOrder() = default;
    virtual std::uint64_t push(Work work) = 0;
    virtual std::uint64_t pushed() const = 0;
    virtual bool done(std::uint64_t number) const = 0;
    virtual void wait(
        std::uint64_t number) const = 0;  // of the calling thread, or of the stream that it works for
    virtual std::int64_t time() const { return 0; }
    virtual void charge(std::int64_t) {}
    virtual void wait_until(std::int64_t) {}
};

class Stream {
public:
    using Work = WorkOrder::Work;

    Stream(int of, unsigned with, int urgency) : device(of), flags(with), priority(urgency) {}

    // Its number; done(number) tells whether it and all before it are done.
    std::uint64_t push(Work work) { return order().push(std::move(work)); }
    bool done(std::uint64_t number) const { return order().done(number); }
    bool idle() const { return done(pushed()); }
    void drain() const { wait(pushed()); }
    void wait(std::uint64_t number) const { order().wait(number); }
    std::uint64_t pushed() const { return order().pushed(); }

    // Virtual time alone; see virtual_time.h.
    std::int64_t time() const { return order().time(); }
    void charge(std::int64_t ns) { order().charge(ns); }
    void wait_until(std::int64_t at) { order().wait_until(at); }

    const int device;
    const unsigned flags;
    const int priority;

private:
    // Chosen by the first use, since a forked child chooses its time after its parent has made the streams.
    WorkOrder& order() const;

    mutable std::once_flag chosen_;
    mutable std::unique_ptr<WorkOrder> order_;
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
    std::int64_t when() const;  // ns

    const unsigned flags;

private:
    struct State {
        mutable std::mutex mutex;
        std::condition_variable changed;
        std::uint64_t recorded = 0, completed = 0;
        std::int64_t when = 0;
    };
    // Shared with the work that completes it: a program may destroy an event that is still to come.
    std::shared_ptr<State> state_ = std::make_shared<State>();
};

}  // namespace deadrank::inject::standin
