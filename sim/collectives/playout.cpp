// sim/collectives/playout.cpp — Two shapes. In rounds (ring, all-to-all) a member sends its next message when
// the last one has left and what it waits for has come. In a stream (chain, tree) each part is passed on
// while it comes in. The latency of a lap is spread evenly over its rounds, and all links move at the pace of
// the narrowest.
#include "sim/collectives/playout.h"

#include <algorithm>
#include <bit>

namespace deadrank::sim {

namespace {

using results::never;
using results::Op;

constexpr std::int64_t stream_parts = 8;

Time later(Time when, Time by) { return when == never ? never : when + by; }

// One directed link: messages leave it one after another.
struct Lane {
    Rank from = 0, to = 0;
    LinkHistory history;
    Time free{0};
    Time arrived{0};  // the last message: none overtakes it, also where the way has become shorter
};

struct Part {
    Time head{0}, tail{0};  // when its first and its last byte is there
};

class Player {
public:
    Player(const Course& course, const Links& links)
        : course_(course),
          links_(links),
          size_(course.ring.size),
          ends_(static_cast<std::size_t>(size_), kernel_launch) {}

    PlayoutResult play_rounds();
    PlayoutResult play_chain();
    PlayoutResult play_two_trees();

private:
    std::size_t at(Rank place) const { return static_cast<std::size_t>(place); }
    Lane lane(Rank from, Rank to) const {
        return {from, to, links_.between(from, to), kernel_launch, kernel_launch};
    }
    Message part_of(std::int64_t bytes, std::int64_t part) const;
    Time leave(Lane& lane, Time begin, const Message& message);
    Time arrival(Lane& lane, Time left, Time latency);
    Part pass(Lane& lane, const Part& in, const Message& message, Time latency);
    void hold_until(Rank place, Time end) { ends_[at(place)] = std::max(ends_[at(place)], end); }
    PlayoutResult over(bool together);
    void tree(bool mirrored);

    const Course& course_;
    const Links& links_;
    Rank size_;
    std::vector<Time> ends_;
    Time stalled_since_ = never;
    Rank stalled_ = -1, towards_ = -1;
    std::uint64_t messages_ = 0;
};

Message Player::part_of(std::int64_t bytes, std::int64_t part) const {
    Message message{.bytes = bytes, .part = part, .parts = stream_parts};
    message.usual = message.time_at(course_.ring.bandwidth);
    return message;
}

Time Player::leave(Lane& lane, Time begin, const Message& message) {
    ++messages_;
    begin = std::max(begin, lane.free);
    if (begin == never) return lane.free = never;
    lane.free = lane.history.empty() ? begin + message.usual : time_sent(lane.history, begin, message);
    if (lane.free == never && lane.history.back().down && begin < stalled_since_) {
        stalled_since_ = begin;
        stalled_ = lane.from;
        towards_ = lane.to;
    }
    return lane.free;
}

Time Player::arrival(Lane& lane, Time left, Time latency) {
    if (left == never) return lane.arrived = never;
    if (!lane.history.empty()) latency += phase_at(lane.history, left).extra_latency;
    return lane.arrived = std::max(lane.arrived, left + latency);
}

// A part goes on while it comes in: it is never through before it has come in as a whole.
Part Player::pass(Lane& lane, const Part& in, const Message& message, Time latency) {
    const Time begin = std::max(in.head, lane.free);
    const Time left = std::max(leave(lane, begin, message), in.tail);
    lane.free = left;
    const Time extra = lane.history.empty() || begin == never || left == never
                           ? Time{0}
                           : phase_at(lane.history, left).extra_latency;
    return {left == never ? never : later(begin, latency + extra), later(left, latency + extra)};
}

// Undisturbed, no member leaves before the others, even where its own part is done.
PlayoutResult Player::over(bool together) {
    if (together) {
        const Time usual = collective_time(course_.op, course_.bytes, course_.ring, course_.algorithm);
        for (Time& end : ends_) end = std::max(end, usual);
    }
    return {std::move(ends_), stalled_, towards_, messages_};
}

PlayoutResult Player::play_rounds() {
    const RingCost& ring = course_.ring;
    const bool exchange = course_.op == Op::all_to_all;
    const bool twice = course_.op == Op::all_reduce || course_.op == Op::barrier;
    const Rank rounds = (size_ - 1) * (twice ? 2 : 1);
    Message message{.bytes = twice ? (course_.bytes + size_ - 1) / size_ : course_.bytes};
    message.usual = message.time_at(ring.bandwidth);
    const auto latency_until = [&](Rank round) {
        return exchange ? ring.latency_max * round : ring.latency_sum * round / size_;
    };
    std::vector<Lane> lanes;
    for (Rank place = 0; place < size_; ++place) lanes.push_back(lane(place, (place + 1) % size_));
    std::vector<Time> come(at(size_), kernel_launch), next(at(size_));
    for (Rank round = 0; round < rounds; ++round) {
        const Time latency = latency_until(round + 1) - latency_until(round);
        message.sent_before = round * message.bytes;
        for (Rank place = 0; place < size_; ++place) {
            Lane& out = lanes[at(place)];
            const Rank to = exchange ? (place + round + 1) % size_ : out.to;
            if (to != out.to) out = {place, to, links_.between(place, to), out.free, kernel_launch};
            next[at(to)] = arrival(out, leave(out, come[at(place)], message), latency);
        }
        come.swap(next);
    }
    for (Rank place = 0; place < size_; ++place)
        ends_[at(place)] = std::max(come[at(place)], lanes[at(place)].free);
    return over(false);
}

// The ring of broadcast begins at its root, that of reduce ends there.
PlayoutResult Player::play_chain() {
    const Rank first = course_.op == Op::reduce ? course_.root + 1 : course_.root;
    std::vector<Lane> lanes;
    for (Rank i = 0; i + 1 < size_; ++i) lanes.push_back(lane((first + i) % size_, (first + i + 1) % size_));
    const auto latency_until = [&](Rank hops) { return course_.ring.latency_sum * hops / (size_ - 1); };
    for (std::int64_t number = 0; number < stream_parts; ++number) {
        const Message message = part_of(course_.bytes, number);
        Part part{kernel_launch, kernel_launch};
        for (Rank i = 0; i + 1 < size_; ++i) {
            Lane& out = lanes[at(i)];
            part = pass(out, part, message, latency_until(i + 1) - latency_until(i));
            hold_until(out.from, out.free);
            hold_until(out.to, part.tail);
        }
    }
    return over(true);
}

// NCCL's tree over places: the lowest set bit tells whose child one is. Its depth is ⌈log₂ size⌉.
Rank parent_of(Rank place, Rank size) {
    const Rank bit = place & -place;
    const Rank up = (place ^ bit) | (bit << 1);
    return up < size ? up : place ^ bit;
}

// Up to the root, where parts meet, and down again. A member's port carries the streams of both trees, twice
// the bytes in all, so a part takes its share of that on each link.
void Player::tree(bool mirrored) {
    const auto member = [&](Rank place) {
        if (!mirrored) return place;
        return size_ % 2 == 0 ? size_ - 1 - place : (place + 1) % size_;
    };
    // Children before their parents: those with the lower bit first.
    std::vector<Rank> upwards;
    for (Rank bit = 1; bit < size_; bit <<= 1)
        for (Rank place = bit; place < size_; place += 2 * bit) upwards.push_back(place);
    std::vector<Lane> up(at(size_)), down(at(size_));
    for (const Rank place : upwards) {
        const Rank parent = parent_of(place, size_);
        up[at(place)] = lane(member(place), member(parent));
        down[at(place)] = lane(member(parent), member(place));
    }
    const Time latency = course_.ring.latency_max;
    std::vector<Part> parts(at(size_));
    for (std::int64_t number = 0; number < stream_parts; ++number) {
        const Message message = part_of(2 * course_.bytes, number);
        parts.assign(at(size_), Part{kernel_launch, kernel_launch});
        for (const Rank place : upwards) {
            const Part in = pass(up[at(place)], parts[at(place)], message, latency);
            hold_until(member(place), up[at(place)].free);
            Part& pending = parts[at(parent_of(place, size_))];
            pending = {std::max(pending.head, in.head), std::max(pending.tail, in.tail)};
        }
        for (auto place = upwards.rbegin(); place != upwards.rend(); ++place) {
            const Rank parent = parent_of(*place, size_);
            parts[at(*place)] = pass(down[at(*place)], parts[at(parent)], message, latency);
            hold_until(member(parent), down[at(*place)].free);
            hold_until(member(*place), parts[at(*place)].tail);
        }
    }
}

PlayoutResult Player::play_two_trees() {
    tree(false);
    tree(true);
    return over(true);
}

bool by_tree(const Course& course) {
    return course.algorithm == Algorithm::tree && (course.op == Op::all_reduce || course.op == Op::barrier);
}

bool in_a_chain(Op op) { return op == Op::broadcast || op == Op::reduce; }

}  // namespace

std::int64_t messages_of(const Course& course) {
    const std::int64_t size = course.ring.size;
    if (by_tree(course)) return 4 * stream_parts * size;
    if (in_a_chain(course.op)) return stream_parts * size;
    return 2 * size * size;
}

PlayoutResult play_out(const Course& course, const Links& links) {
    if (course.ring.size < 2) return {.ends = {kernel_launch}};
    Player player(course, links);
    if (by_tree(course)) return player.play_two_trees();
    return in_a_chain(course.op) ? player.play_chain() : player.play_rounds();
}

}  // namespace deadrank::sim
