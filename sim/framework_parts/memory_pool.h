// sim/framework_parts/memory_pool.h — The memory that a device gives out again, as torch's caching allocator
// does.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "sim/framework_parts/device_streams.h"

namespace deadrank::sim {

using Memory = std::shared_ptr<std::vector<Number>>;

// Memory that the program has let go is given out again on its stream at once, whoever may still read it
// elsewhere, unless record_stream() said so.
class MemoryPool : public std::enable_shared_from_this<MemoryPool> {
public:
    explicit MemoryPool(DeviceStreams& streams) : streams_(streams) {}

    struct Block {
        Block(Memory memory, std::weak_ptr<MemoryPool> of, int on)
            : storage(std::move(memory)), pool(std::move(of)), stream(on) {}
        Memory storage;
        std::weak_ptr<MemoryPool> pool;
        int stream = 0;
        std::set<int> used_on;
        ~Block() {
            if (const auto owner = pool.lock()) owner->take_back(*this);
        }
    };

    // As the program sees it: when its last name is gone, the block is free.
    Memory give(std::size_t size, int stream, bool& used_before) {
        auto block = std::make_shared<Block>(take(size, stream), weak_from_this(), stream);
        used_before = block->storage != nullptr;
        if (!used_before) block->storage = std::make_shared<std::vector<Number>>(size, 0);
        blocks_[block->storage.get()] = block.get();
        return {block, block->storage.get()};
    }

    Block* block_of(const void* memory) const {
        const auto found = blocks_.find(memory);
        return found == blocks_.end() ? nullptr : found->second;
    }

private:
    struct Free {
        Memory storage;
        std::vector<DeviceStreams::Entry> needs;
    };
    static constexpr std::size_t most_free = 256;

    Memory take(std::size_t size, int stream) {
        auto& there = free_[{stream, size}];
        const auto ready = std::find_if(there.rbegin(), there.rend(), [](const Free& block) {
            return std::all_of(block.needs.begin(), block.needs.end(), [](const auto& entry) {
                return !entry || entry->state == StreamEntry::State::over;
            });
        });
        if (ready == there.rend()) return nullptr;
        Memory storage = ready->storage;
        there.erase(std::next(ready).base());
        return storage;
    }

    void take_back(const Block& block) {
        blocks_.erase(block.storage.get());
        auto& there = free_[{block.stream, block.storage->size()}];
        if (there.size() >= most_free) there.erase(there.begin());
        there.push_back({block.storage, {}});
        for (const int stream : block.used_on) there.back().needs.push_back(streams_.last(stream));
    }

    DeviceStreams& streams_;
    std::map<const void*, Block*> blocks_;
    std::map<std::pair<int, std::size_t>, std::vector<Free>> free_;
};

}  // namespace deadrank::sim
