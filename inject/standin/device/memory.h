// inject/standin/device/memory.h — Device memory is host memory that is known by address: so a pointer tells
// which device it is of, and how far it reaches.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>

namespace deadrank::standin {

enum class Where { device, host, managed, registered };

struct Block {
    char* begin = nullptr;
    std::size_t size = 0;
    Where where = Where::device;
    int device = 0;
};

class Memory {
public:
    static constexpr std::size_t capacity = std::size_t{16} << 30;  // of each device, as far as it is told

    void* take(std::size_t size, Where where, int device);  // null: a device is full, or the machine is
    bool give_back(void* at);
    bool enrol(void* at, std::size_t size);  // host memory that the program brings
    bool strike(void* at);
    std::optional<Block> find(const void* at) const;
    std::size_t left(int device) const;

private:
    std::size_t used(int device) const;

    mutable std::mutex mutex_;
    std::map<const char*, Block> blocks_;
};

}  // namespace deadrank::standin
