// inject/standin/device/virtual_memory.cpp — Reserved ranges over mmap.
#include "inject/standin/device/virtual_memory.h"

#include <sys/mman.h>

namespace deadrank::inject::standin {

void* VirtualMemory::reserve(std::size_t size) {
    void* at =
        mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    return at == MAP_FAILED ? nullptr : at;
}

bool VirtualMemory::release_range(void* at, std::size_t size) { return munmap(at, size) == 0; }

unsigned long long VirtualMemory::create(std::size_t size, int device) {
    if (!memory_.commit(size, device)) return 0;
    const std::lock_guard lock(mutex_);
    pieces_[++last_] = {size, device, 1};
    return last_;
}

void VirtualMemory::drop(unsigned long long handle) {
    Piece& piece = pieces_.at(handle);
    if (--piece.uses > 0) return;
    memory_.uncommit(piece.size, piece.device);
    pieces_.erase(handle);
}

bool VirtualMemory::release(unsigned long long handle) {
    const std::lock_guard lock(mutex_);
    if (!pieces_.contains(handle)) return false;
    drop(handle);
    return true;
}

bool VirtualMemory::map(void* at, std::size_t size, unsigned long long handle) {
    const std::lock_guard lock(mutex_);
    const auto piece = pieces_.find(handle);
    if (piece == pieces_.end() || piece->second.size != size || mapped_.contains(at)) return false;
    if (!memory_.add_block(at, size, Where::mapped, piece->second.device)) return false;
    ++piece->second.uses;
    mapped_[at] = handle;
    return true;
}

bool VirtualMemory::unmap(void* at, std::size_t size) {
    const std::lock_guard lock(mutex_);
    char* begin = static_cast<char*>(at);
    for (auto one = mapped_.lower_bound(at); one != mapped_.end() && one->first < begin + size;) {
        memory_.strike(one->first, Where::mapped);
        drop(one->second);
        one = mapped_.erase(one);
    }
    return madvise(at, size, MADV_DONTNEED) == 0;
}

}  // namespace deadrank::inject::standin
