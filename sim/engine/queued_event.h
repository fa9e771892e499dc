// sim/engine/queued_event.h — An entry of the event queue: 24 bytes that say when, in which order, for whom,
// and what.
#pragma once

#include <cstdint>

namespace deadrank::sim {

struct QueuedEvent {
    std::int64_t time = 0;     // nanoseconds, never negative
    std::uint64_t order = 0;   // tie << 40 | sequence; the tie is 0 unless the order is explored
    std::uint32_t target = 0;  // the actor concerned
    std::uint32_t payload = 0;

    static constexpr unsigned sequence_bits = 40;

    // One comparison of 128 bits, which compiles without a branch.
    bool before(const QueuedEvent& other) const { return key() < other.key(); }

private:
    __extension__ using Key = unsigned __int128;
    Key key() const { return Key{static_cast<std::uint64_t>(time)} << 64 | order; }
};
static_assert(sizeof(QueuedEvent) == 24);

}  // namespace deadrank::sim
