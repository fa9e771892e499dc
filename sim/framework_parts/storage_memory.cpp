// sim/framework_parts/storage_memory.cpp — The last reference to a storage tells the books that it is gone.
#include "sim/framework_parts/storage_memory.h"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace deadrank::sim {

struct StorageMemory::Books {
    struct Pool {
        MemoryUse use;
        std::vector<std::pair<std::int64_t, std::int64_t>> segments;  // handle, bytes
    };
    std::map<int, Pool> pools;  // by device of the node
    // What counts already, by the elements: a view that was made before its whole was counted finds it here.
    std::map<const void*, std::weak_ptr<std::vector<Number>>> counted;
    World* world = nullptr;  // none once the process is over
};

// Behind the pointer that all views of a counted storage share.
struct StorageMemory::Owner {
    Memory storage;
    std::shared_ptr<Books> books;
    int device = -1;
    std::int64_t bytes = 0;
    std::int64_t handle = 0;  // of the node's memory

    void operator()(const std::vector<Number>*) {
        books->counted.erase(storage.get());
        if (device >= 0)
            books->pools[device].use.allocated -= bytes;
        else if (books->world)
            books->world->device().release(handle);
        storage.reset();
        books.reset();
    }
};

StorageMemory::StorageMemory(World& world) : books_(std::make_shared<Books>()) { books_->world = &world; }

StorageMemory::~StorageMemory() { close(); }

// The node's memory has no owner that gives it back when a process ends.
void StorageMemory::close() {
    World* const world = std::exchange(books_->world, nullptr);
    if (!world) return;
    for (const auto& [elements, storage] : books_->counted) {
        const Memory held = storage.lock();
        const auto* owner = held ? std::get_deleter<Owner>(held) : nullptr;
        if (owner && owner->device < 0) world->device().release(owner->handle);
    }
}

bool StorageMemory::counts(const Memory& storage) { return std::get_deleter<Owner>(storage) != nullptr; }

Memory StorageMemory::count(const Memory& storage, int device, std::int64_t bytes) {
    if (const auto known = books_->counted.find(storage.get()); known != books_->counted.end())
        if (Memory counted = known->second.lock()) return counted;
    Owner owner{.storage = storage, .books = books_, .device = device, .bytes = bytes};
    if (device >= 0)
        take(device, bytes);
    else
        owner.handle = books_->world->device().allocate_host(bytes);
    const Memory counted(storage.get(), std::move(owner));
    books_->counted[storage.get()] = counted;
    return counted;
}

namespace {

void note(MemoryUse& use) {
    use.most_allocated = std::max(use.most_allocated, use.allocated);
    use.most_reserved = std::max(use.most_reserved, use.reserved);
}

}  // namespace

// The cache comes first. Where the device has too little for the rest, the cache goes back to it, and the
// device is asked for the whole, as torch does before it gives up.
void StorageMemory::take(int device, std::int64_t bytes) {
    Books::Pool& pool = books_->pools[device];
    Device& devices = books_->world->device();
    const std::int64_t more = pool.use.allocated + bytes - pool.use.reserved;
    if (more > 0) {
        std::int64_t asked = more;
        if (device == devices.index() && more > devices.limit() - devices.used()) {
            empty_cache();
            asked = bytes;
        }
        pool.segments.emplace_back(devices.allocate_on(device, asked), asked);
        pool.use.reserved += asked;
    }
    pool.use.allocated += bytes;
    note(pool.use);
}

void StorageMemory::hold(int device, std::int64_t bytes) {
    MemoryUse& use = books_->pools[device].use;
    use.allocated += bytes;
    use.reserved += bytes;
    note(use);
}

const MemoryUse& StorageMemory::use_of(int device) const { return books_->pools[device].use; }

void StorageMemory::forget_most(int device) {
    MemoryUse& use = books_->pools[device].use;
    use.most_allocated = use.allocated;
    use.most_reserved = use.reserved;
}

// Segments are as large as what was asked for; of the last one that goes, the rest is taken anew.
void StorageMemory::empty_cache() {
    Device& devices = books_->world->device();
    for (auto& [device, pool] : books_->pools) {
        std::int64_t left = pool.use.reserved - pool.use.allocated;
        pool.use.reserved -= left;
        while (left > 0 && !pool.segments.empty()) {
            const auto [handle, bytes] = pool.segments.back();
            pool.segments.pop_back();
            devices.release(handle);
            left -= bytes;
        }
        if (left < 0) pool.segments.emplace_back(devices.allocate_on(device, -left), -left);
    }
}

}  // namespace deadrank::sim
