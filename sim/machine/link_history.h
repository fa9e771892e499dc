// sim/machine/link_history.h — What lies between two members over the time of a collective, and when a
// message that is sent across it has left, however often the pace changes on the way.
#pragma once

#include <cstdint>
#include <vector>

#include "sim/engine/engine.h"
#include "sim/machine/topology.h"

namespace deadrank::sim {

// How far something has come on its way, while its pace may change.
// What is done is kept as parts per billion of the whole.
struct Movement {
    bool under_way = false;
    std::int64_t done_ppb = 0;
    Time since{0};
    Time whole{0};  // the time it takes at the present pace; never = nothing moves
    TimerId timer;

    Time advance(Time now, Time new_whole);  // what is left at the new pace, or never
};

inline constexpr std::int64_t billion = 1'000'000'000;  // parts of a loss, nanoseconds of a second

// From `since` until the next one.
struct LinkPhase {
    Time since{0};
    std::int64_t bandwidth = 0;  // bits per second; 0: nothing moves
    Time latency{0};             // of the hop as a whole, which a lost packet pays twice
    Time extra_latency{0};       // more than usual
    std::int64_t loss_ppb = 0;
    bool down = false;  // it is the link itself that lets nothing move, not a process at one of its ends
};

using LinkHistory = std::vector<LinkPhase>;  // empty: as usual throughout

// One of `parts` equal parts of what a member sends in one go.
struct Message {
    std::int64_t bytes = 0;  // of the whole
    std::int64_t part = 0, parts = 1;
    std::int64_t sent_before = 0;  // bytes over the same link: losses are counted over all of them
    Time usual{0};                 // for this part, at the pace of the narrowest link

    Time time_at(std::int64_t bandwidth) const;  // for this part
};

// A whole that is cut into parts: the times of all parts add up to it, to the nanosecond.
Time time_of_part(Time whole, std::int64_t part, std::int64_t parts);

// Packets that are sent again for so many bytes: the expected number, without chance.
std::int64_t expected_resent(std::int64_t bytes, std::int64_t loss_ppb);

// What so many of them cost.
Time resending_time(std::int64_t resent, Time latency, std::int64_t bandwidth);

// When a message has left that may leave at `begin`; never: the last phase lets nothing move.
Time time_sent(const LinkHistory& history, Time begin, const Message& message);

// Of the phase that holds at that time.
const LinkPhase& phase_at(const LinkHistory& history, Time when);

}  // namespace deadrank::sim
