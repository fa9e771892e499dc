// sim/engine/action_pool.h — The handlers of events to come, one cache line each, without an allocation per
// event. Slots have stable addresses; a generation number tells a stale handle from a live one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>
#include <utility>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::sim {

class ActionPool {
public:
    using Index = std::uint32_t;
    static constexpr std::size_t inline_bytes = 32;

    struct Slot {
        void (*act)(void* storage, bool perform) = nullptr;  // null: free, or called off
        const char* label = "";
        std::uint64_t digest = 0;
        std::uint32_t generation = 0;
        Index next_free = 0;
        alignas(8) std::byte storage[inline_bytes];
    };
    static_assert(sizeof(Slot) == 64);

    ActionPool() = default;
    ~ActionPool() { clear(); }
    ActionPool(const ActionPool&) = delete;
    ActionPool& operator=(const ActionPool&) = delete;

    // Keeps a callable until perform() or call_off(). Small trivial ones lie in the slot, others in a box of
    // their own.
    template <class F>
    Index add(const char* label, std::uint64_t digest, F&& callable) {
        using Callable = std::decay_t<F>;
        const Index index = take();
        Slot& slot = at(index);
        slot.label = label;
        slot.digest = digest;
        if constexpr (sizeof(Callable) <= inline_bytes && alignof(Callable) <= 8 &&
                      std::is_trivially_copyable_v<Callable>) {
            ::new (slot.storage) Callable(std::forward<F>(callable));
            slot.act = [](void* storage, bool perform) {
                if (perform) (*std::launder(static_cast<Callable*>(storage)))();
            };
        } else {
            ::new (slot.storage) Callable*(new Callable(std::forward<F>(callable)));
            slot.act = [](void* storage, bool perform) {
                const std::unique_ptr<Callable> box(*std::launder(static_cast<Callable**>(storage)));
                if (perform) (*box)();
            };
        }
        return index;
    }

    Slot& at(Index index) { return chunks_[index / chunk_slots][index % chunk_slots]; }

    // Calls it once. The slot is free before the call, so the event that the handler schedules next reuses
    // the warm line.
    void perform(Index index) {
        Slot& slot = at(index);
        alignas(8) std::byte storage[inline_bytes];
        std::memcpy(storage, slot.storage, inline_bytes);
        const auto act = slot.act;
        release(index);
        act(storage, true);
    }

    // Destroys it uncalled. The slot stays taken, and empty, until release(): an event in the queue still
    // names it.
    void call_off(Index index) {
        Slot& slot = at(index);
        std::exchange(slot.act, nullptr)(slot.storage, false);
    }

    void release(Index index) {
        Slot& slot = at(index);
        slot.act = nullptr;
        ++slot.generation;
        slot.next_free = free_;
        free_ = index;
    }

    // Destroys all, uncalled. Memory is kept up to about `keep` slots.
    void clear(std::size_t keep = 0);

private:
    static constexpr std::size_t chunk_slots = 256;
    static constexpr Index none = UINT32_MAX;

    Index take() {
        if (free_ == none) grow();
        const Index index = free_;
        free_ = at(index).next_free;
        return index;
    }
    void grow();

    std::vector<std::unique_ptr<Slot[]>> chunks_;
    Index free_ = none;
};

}  // namespace deadrank::sim
