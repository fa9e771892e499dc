// sim/engine/deadlines.h — The deadline of each actor's wait, in blocks: of a crowd of a million only those
// who ever wait for a time own memory.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/engine/actor.h"

namespace deadrank::sim {

// An event's payload is the slot of a handler, or with this bit the number of the wait whose deadline it is.
inline constexpr std::uint32_t deadline_bit = 1u << 31;

// The deadline of an actor's wait, and the one event that stands for it in the queue. A wait that ends
// early leaves its event there; a later deadline needs no other: when it comes up too early it is queued
// again, with the place in the order that the wait was given.
struct Deadline {
    std::int64_t when = 0;
    std::uint64_t order = 0;
    std::int64_t queued_at = 0;
    std::uint32_t queued_number = 0;  // of the wait that the event was made for
    bool queued = false;
};

class Deadlines {
public:
    void clear() {
        for (const auto& block : blocks_) {
            if (block) block->fill({});
        }
    }

    void release() { blocks_.clear(); }

    Deadline& of(ActorId id) {
        if (id / block_size >= blocks_.size()) blocks_.resize(id / block_size + 1);
        auto& block = blocks_[id / block_size];
        if (!block) block = std::make_unique<Block>();
        return (*block)[id % block_size];
    }

private:
    static constexpr std::size_t block_size = 256;
    using Block = std::array<Deadline, block_size>;
    std::vector<std::unique_ptr<Block>> blocks_;
};

}  // namespace deadrank::sim
