// inject/standin/device/standin_memory.h — The devices that a process sees, and their memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <map>
#include <memory>
#include <mutex>
#include <numeric>
#include <optional>
#include <set>
#include <vector>

#include "inject/standin/device/stream.h"

namespace deadrank::inject::standin {

// ── Device memory is host memory that is registered by address, so that a pointer tells its device and how
// far it reaches.

enum class Where { device, host, managed, registered, mapped };  // mapped: of a device, by virtual_memory.h

struct Block {
    char* begin = nullptr;
    std::size_t size = 0;
    Where where = Where::device;
    int device = 0;
};

class VirtualMemory;

class Memory {
public:
    static std::size_t capacity();  // of each device, by its model

    void* take(std::size_t size, Where where, int device);  // null: a device is full, or the machine is
    bool give_back(void* at);
    // Memory that is not taken here: what the program registers, or what is mapped.
    bool add_block(void* at, std::size_t size, Where where = Where::registered, int device = 0);
    bool strike(void* at, Where where = Where::registered);
    // Memory of a device without an address.
    bool commit(std::size_t size, int device);  // false: the device is full
    void uncommit(std::size_t size, int device);
    std::optional<Block> find(const void* at) const;
    std::size_t left(int device) const;

private:
    std::size_t used(int device) const;                    // with the lock
    bool has_room(std::size_t size, int device) const;  // and takes it from the keeper

    mutable std::mutex mutex_;
    std::map<const char*, Block> blocks_;
    std::map<int, std::size_t> committed_;
};

// CUDA_VISIBLE_DEVICES, as the CUDA runtime reads it: which devices of the machine a process sees, and in
// which order. An entry that is no device hides all that follow.
// `said`: null where the variable is not set.
inline std::vector<int> visible_devices(const char* said, int on_machine) {
    std::vector<int> seen;
    if (!said) {
        seen.resize(static_cast<std::size_t>(on_machine));
        std::iota(seen.begin(), seen.end(), 0);
        return seen;
    }
    while (*said) {
        char* end = nullptr;
        const long device = std::strtol(said, &end, 10);
        if (end == said || (*end && *end != ',') || device < 0 || device >= on_machine) break;
        seen.push_back(static_cast<int>(device));
        said = *end ? end + 1 : end;
    }
    return seen;
}

// All devices of this process: their streams and memory, and which one a thread works with. One set per
// process, as CUDA's interface requires; it is never torn down.
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
    VirtualMemory& virtual_memory() { return *virtual_memory_; }

private:
    Devices();
    ~Devices();  // never called
    Stream& default_stream(int device);
    std::vector<Stream*> of(int device);

    std::unique_ptr<VirtualMemory> virtual_memory_;
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

}  // namespace deadrank::inject::standin
