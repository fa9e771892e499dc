// sim/framework_parts/storage_memory.h — The memory that storages take while something refers to them. On a
// device it is handed out as by torch's caching allocator: what is let go is kept for the next storage, and
// does not go back to the device before it is asked for.
#pragma once

#include <cstdint>
#include <memory>

#include "sim/framework_parts/memory_pool.h"
#include "sim/world/world.h"

namespace deadrank::sim {

// In bytes, of one device. What is reserved and not allocated is the cache.
struct MemoryUse {
    std::int64_t allocated = 0, reserved = 0;
    std::int64_t most_allocated = 0, most_reserved = 0;
};

class StorageMemory {
public:
    explicit StorageMemory(World& world);
    ~StorageMemory();
    StorageMemory(const StorageMemory&) = delete;
    StorageMemory& operator=(const StorageMemory&) = delete;

    static bool counts(const Memory& storage);
    // The same elements: whoever refers to them by this pointer, or a copy of it, lets them count. `device`:
    // of the node; -1: the node's own memory. Throws OutOfMemory.
    Memory count(const Memory& storage, int device, std::int64_t bytes);

    // Memory that others hand out and take back, beside the cache.
    void hold(int device, std::int64_t bytes);
    const MemoryUse& use_of(int device) const;
    void forget_most(int device);  // the most is from now on what there is
    void empty_cache();
    // The process is over: what still refers to a storage has nothing to give back.
    void close();

private:
    struct Books;
    struct Owner;

    void take(int device, std::int64_t bytes);

    std::shared_ptr<Books> books_;
};

}  // namespace deadrank::sim
