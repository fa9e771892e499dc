// sim/engine/action_pool.cpp — Growing by chunks, so that slots never move, and emptying between runs.
#include "sim/engine/action_pool.h"

namespace deadrank::sim {

void ActionPool::grow() {
    const std::size_t first = chunks_.size() * chunk_slots;
    CHECK(first + chunk_slots < none);
    chunks_.push_back(std::make_unique_for_overwrite<Slot[]>(chunk_slots));
    for (std::size_t i = chunk_slots; i-- > 0;) {
        const auto index = static_cast<Index>(first + i);
        at(index).next_free = free_;
        free_ = index;
    }
}

void ActionPool::clear(std::size_t keep) {
    for (const auto& chunk : chunks_) {
        for (std::size_t i = 0; i < chunk_slots; ++i) {
            if (chunk[i].act) std::exchange(chunk[i].act, nullptr)(chunk[i].storage, false);
        }
    }
    const std::size_t kept = (keep + chunk_slots - 1) / chunk_slots;
    if (chunks_.size() > kept) chunks_.resize(kept);
    free_ = none;
    for (std::size_t index = chunks_.size() * chunk_slots; index-- > 0;) {
        Slot& slot = at(static_cast<Index>(index));
        ++slot.generation;
        slot.next_free = free_;
        free_ = static_cast<Index>(index);
    }
}

}  // namespace deadrank::sim
