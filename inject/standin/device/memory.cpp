// inject/standin/device/memory.cpp — Blocks are aligned as cudaMalloc aligns, and never move.
#include "inject/standin/device/memory.h"

#include <algorithm>
#include <cstdlib>

namespace deadrank::standin {

namespace {
constexpr std::size_t alignment = 512;
}

std::size_t Memory::used(int device) const {
    std::size_t sum = 0;
    for (const auto& [begin, block] : blocks_) {
        if (block.where == Where::device && block.device == device) sum += block.size;
    }
    return sum;
}

void* Memory::take(std::size_t size, Where where, int device) {
    const std::lock_guard lock(mutex_);
    if (size > capacity || (where == Where::device && used(device) + size > capacity)) return nullptr;
    const std::size_t rounded = std::max(alignment, (size + alignment - 1) / alignment * alignment);
    char* at = static_cast<char*>(std::aligned_alloc(alignment, rounded));
    if (at) blocks_[at] = {at, size, where, device};
    return at;
}

bool Memory::give_back(void* at) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(static_cast<char*>(at));
    if (found == blocks_.end() || found->second.where == Where::registered) return false;
    blocks_.erase(found);
    std::free(at);
    return true;
}

bool Memory::enrol(void* at, std::size_t size) {
    const std::lock_guard lock(mutex_);
    char* begin = static_cast<char*>(at);
    return begin && blocks_.try_emplace(begin, Block{begin, size, Where::registered, 0}).second;
}

bool Memory::strike(void* at) {
    const std::lock_guard lock(mutex_);
    const auto found = blocks_.find(static_cast<char*>(at));
    if (found == blocks_.end() || found->second.where != Where::registered) return false;
    blocks_.erase(found);
    return true;
}

std::optional<Block> Memory::find(const void* at) const {
    const std::lock_guard lock(mutex_);
    const char* place = static_cast<const char*>(at);
    auto found = blocks_.upper_bound(place);
    if (found == blocks_.begin()) return std::nullopt;
    const Block& block = (--found)->second;
    if (place >= block.begin + std::max<std::size_t>(block.size, 1)) return std::nullopt;
    return block;
}

std::size_t Memory::left(int device) const {
    const std::lock_guard lock(mutex_);
    return capacity - used(device);
}

}  // namespace deadrank::standin
