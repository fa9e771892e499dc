// sim/engine/stacks.h — Many small stacks from few mappings, each with a guard below it.
// Conventional guard pages split the mapping and stop at about 32,700 stacks; MADV_GUARD_INSTALL (Linux 6.13)
// does not.
#pragma once

#include <boost/context/stack_context.hpp>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace deadrank::sim {

enum class GuardKind {
    page,   // the lowest page of each stack faults when touched
    canary  // the lowest word of each stack is checked at each switch: found late, but found
};

class SlabStacks {
public:
    // `stack_bytes` is rounded up to whole pages. Address space only: a page costs memory once it is touched.
    explicit SlabStacks(std::size_t stack_bytes, GuardKind wanted = GuardKind::page);
    ~SlabStacks();
    SlabStacks(const SlabStacks&) = delete;
    SlabStacks& operator=(const SlabStacks&) = delete;

    // Makes room for `count` more stacks in one mapping. Throws std::bad_alloc when the kernel refuses.
    void reserve(std::size_t count);

    // The two calls Boost.Context asks of a stack allocator. A stack given back is the next one handed out.
    boost::context::stack_context allocate();
    void deallocate(const boost::context::stack_context& stack) noexcept;

    // False when the canary below the stack that `address` lies on is gone; true for addresses on no stack of
    // ours.
    bool intact_below(const void* address) const;

    std::size_t stack_bytes() const { return stack_bytes_; }
    std::size_t in_use() const { return in_use_; }
    GuardKind guard() const { return guard_; }

    // Bytes of the deepest use of any stack so far, to within a cache colour (768). Costs nothing until
    // asked: fresh pages are zero, so the lowest word that is not zero tells; no page is touched that was not
    // touched before.
    std::size_t high_water() const;

private:
    struct Slab {
        std::byte* base = nullptr;
        std::size_t count = 0;
    };

    std::size_t depth_of(const std::byte* low) const;

    std::size_t stack_bytes_;
    GuardKind guard_;
    std::vector<Slab> slabs_;
    std::size_t fresh_ = 0;  // stacks of the last slab that were never handed out
    std::size_t in_use_ = 0;
    std::size_t colour_ = 0;
    std::vector<std::byte*> free_;
};

}  // namespace deadrank::sim
