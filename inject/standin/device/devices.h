// inject/standin/device/devices.h — All devices of this process: their streams and memory, and which one a
// thread works with. One set a process, as the programs' own interface wants it; it is never torn down.
#pragma once

#include <memory>
#include <mutex>
#include <set>
#include <vector>

#include "inject/standin/device/memory.h"
#include "inject/standin/device/stream.h"

namespace deadrank::standin {

class Devices {
public:
    static Devices& of_this_process();

    int count() const { return static_cast<int>(visible_.size()); }  // that this process sees
    int on_machine() const { return on_machine_; }
    // A visible device's number on the machine; -1 for none. And back.
    int physical(int device) const;
    int visible(int physical) const;
    int current() const;      // of the calling thread
    bool choose(int device);  // false: there is none

    // Null, 1 and 2 are the default streams of the current device. Null when there is no such stream.
    Stream* stream(const void* handle);
    Stream* open(unsigned flags, int priority);
    bool close(const void* handle);
    // In the order in which the default stream and blocking ones wait for each other.
    void push(Stream& stream, Stream::Work work);
    void drain(int device);
    bool idle(int device);

    Event* open_event(unsigned flags);
    Event* event(const void* handle);
    bool close_event(const void* handle);

    Memory memory;

private:
    Devices();
    Stream& default_stream(int device);
    std::vector<Stream*> of(int device);

    int on_machine_;
    std::vector<int> visible_;
    std::mutex mutex_;
    std::vector<std::unique_ptr<Stream>> defaults_;
    std::set<std::unique_ptr<Stream>> streams_;
    std::vector<Stream*> closed_;  // their threads live on
    std::set<std::unique_ptr<Event>> events_;
};

// Non-blocking streams do not wait for the default stream, nor it for them: cudaStreamNonBlocking.
constexpr unsigned non_blocking = 1;

}  // namespace deadrank::standin
