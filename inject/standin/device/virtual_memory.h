// inject/standin/device/virtual_memory.h — Address ranges that are reserved first and given memory later, as
// torch's expandable segments do. A range is mapped when it is reserved, and the host gives it pages when
// they are touched. What is created and mapped decides how much of a device is used, and which addresses are
// known.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>

#include "inject/standin/device/standin_memory.h"

namespace deadrank::inject::standin {

class VirtualMemory {
public:
    static constexpr std::size_t granularity = std::size_t{2} << 20;

    explicit VirtualMemory(Memory& memory) : memory_(memory) {}

    void* reserve(std::size_t size);  // null: the host has no such range
    bool release_range(void* at, std::size_t size);

    // A handle of so much memory of a device; 0: the device is full.
    unsigned long long create(std::size_t size, int device);
    bool release(unsigned long long handle);
    bool map(void* at, std::size_t size, unsigned long long handle);
    // Its contents are lost.
    bool unmap(void* at, std::size_t size);

private:
    struct Piece {
        std::size_t size;
        int device;
        int uses;  // by the handle itself, and by each mapping
    };
    void drop(unsigned long long handle);

    Memory& memory_;
    std::mutex mutex_;
    unsigned long long last_ = 0;
    std::map<unsigned long long, Piece> pieces_;
    std::map<void*, unsigned long long> mapped_;
};

}  // namespace deadrank::inject::standin
