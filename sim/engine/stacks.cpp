// sim/engine/stacks.cpp — mmap without reservation, guards without new mappings, and the high-water mark read
// from page residency.
#include "sim/engine/stacks.h"

#include <algorithm>
#include <new>
#include <sys/mman.h>
#include <unistd.h>

#include "scenarios/model/error.h"

namespace deadrank::sim {

namespace {

constexpr std::size_t page = 4096;
constexpr int madv_guard_install = 102;  // Linux 6.13; the headers of older systems lack it
constexpr std::size_t first_slab = 64;
constexpr std::uint64_t canary = 0xdead5acc0ff1ce00u;

// Tops at the same offset of every page would compete for the same cache sets: a third of the rate at 1,000
// ranks.
constexpr std::size_t colours = 4;
constexpr std::size_t colour_step = 256;  // Boost aligns its control block to this

}  // namespace

SlabStacks::SlabStacks(std::size_t stack_bytes, GuardKind wanted)
    : stack_bytes_((stack_bytes + page - 1) / page * page), guard_(wanted) {
    CHECK(stack_bytes_ >= 2 * page);
}

SlabStacks::~SlabStacks() {
    for (const Slab& slab : slabs_) ::munmap(slab.base, slab.count * stack_bytes_);
}

void SlabStacks::reserve(std::size_t count) {
    if (count <= fresh_ + free_.size()) return;
    // What is left of the last slab goes to the free list, so that only one slab is ever fresh.
    while (fresh_ > 0) free_.push_back(slabs_.back().base + --fresh_ * stack_bytes_);
    count -= std::min(count, free_.size());
    if (count == 0) return;
    void* base = ::mmap(nullptr, count * stack_bytes_, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (base == MAP_FAILED) throw std::bad_alloc();
    slabs_.push_back({static_cast<std::byte*>(base), count});
    fresh_ = count;
}

boost::context::stack_context SlabStacks::allocate() {
    if (free_.empty() && fresh_ == 0) reserve(slabs_.empty() ? first_slab : slabs_.back().count * 2);
    std::byte* low = nullptr;
    if (!free_.empty()) {
        low = free_.back();
        free_.pop_back();
    } else {
        low = slabs_.back().base + --fresh_ * stack_bytes_;
    }
    // A kernel without guard markers answers with an error, and then all stacks have canaries.
    if (guard_ == GuardKind::page && ::madvise(low, page, madv_guard_install) != 0)
        guard_ = GuardKind::canary;
    if (guard_ == GuardKind::canary) *reinterpret_cast<std::uint64_t*>(low) = canary;
    ++in_use_;
    boost::context::stack_context stack;
    stack.size = stack_bytes_ - colour_++ % colours * colour_step;
    stack.sp = low + stack.size;
    return stack;
}

void SlabStacks::deallocate(const boost::context::stack_context& stack) noexcept {
    --in_use_;
    free_.push_back(static_cast<std::byte*>(stack.sp) - stack.size);
}

bool SlabStacks::intact_below(const void* address) const {
    const auto at = reinterpret_cast<std::uintptr_t>(address);
    for (const Slab& slab : slabs_) {
        const auto base = reinterpret_cast<std::uintptr_t>(slab.base);
        if (at < base || at >= base + slab.count * stack_bytes_) continue;
        const std::uintptr_t low = base + (at - base) / stack_bytes_ * stack_bytes_;
        return *reinterpret_cast<const std::uint64_t*>(low) == canary;
    }
    return true;
}

std::size_t SlabStacks::high_water() const {
    std::size_t deepest = 0;
    for (const Slab& slab : slabs_) {
        for (std::size_t i = 0; i < slab.count; ++i) {
            deepest = std::max(deepest, depth_of(slab.base + i * stack_bytes_));
        }
    }
    return deepest;
}

std::size_t SlabStacks::depth_of(const std::byte* low) const {
    const std::size_t pages = stack_bytes_ / page;
    std::vector<unsigned char> resident(pages);
    if (::mincore(const_cast<std::byte*>(low), stack_bytes_, resident.data()) != 0) return 0;
    // The lowest page is the guard, or holds the canary; use that reached it has been reported by other
    // means.
    for (std::size_t i = 1; i < pages; ++i) {
        if ((resident[i] & 1) == 0) continue;
        const auto* word = reinterpret_cast<const std::uint64_t*>(low + i * page);
        const std::uint64_t* end = word + page / sizeof(*word);
        while (word < end && *word == 0) ++word;
        if (word < end) {
            return stack_bytes_ - static_cast<std::size_t>(reinterpret_cast<const std::byte*>(word) - low);
        }
    }
    return 0;
}

}  // namespace deadrank::sim
