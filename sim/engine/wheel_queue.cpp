// sim/engine/wheel_queue.cpp — Turning the wheel: find the next bucket by its bit, sort it, bring far events
// within the horizon.
#include "sim/engine/wheel_queue.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <utility>

namespace deadrank::sim {

namespace {

// An object, not a function: algorithms call it in place.
constexpr auto earlier = [](const QueuedEvent& one, const QueuedEvent& other) { return one.before(other); };

}  // namespace

std::size_t WheelQueue::lowest_bit(std::uint64_t bits) {
    return static_cast<std::size_t>(std::countr_zero(bits));
}

void WheelQueue::advance() {
    std::int64_t next = next_occupied();
    if (next < 0) next = far_.top().time >> shift_;
    current_ = next;
    due_.clear();
    cursor_ = 0;
    const auto slot = static_cast<std::size_t>(current_ & mask_);
    due_.swap(buckets_[slot]);
    occupied_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
    // Far events are later than every bucket, so one joins this bucket only when the wheel was empty.
    while (!far_.empty() && (far_.top().time >> shift_) - current_ <= mask_) {
        const QueuedEvent event = far_.pop();
        if (event.time >> shift_ == current_) {
            due_.push_back(event);
        } else {
            place(event);
        }
    }
    sort_due();
}

void WheelQueue::sort_due() {
    constexpr std::size_t few = 24;  // most buckets hold a handful, often in order already
    if (due_.size() > few) {
        if (!std::is_sorted(due_.begin(), due_.end(), earlier)) std::sort(due_.begin(), due_.end(), earlier);
        return;
    }
    for (std::size_t i = 1; i < due_.size(); ++i) {
        const QueuedEvent event = due_[i];
        std::size_t hole = i;
        for (; hole > 0 && event.before(due_[hole - 1]); --hole) due_[hole] = due_[hole - 1];
        due_[hole] = event;
    }
}

std::int64_t WheelQueue::next_occupied() const {
    const auto start = static_cast<std::size_t>((current_ + 1) & mask_);
    const std::size_t words = occupied_.size();
    std::size_t word = start / 64;
    std::uint64_t bits = occupied_[word] & (~std::uint64_t{0} << start % 64);
    for (std::size_t looked = 0; looked <= words; ++looked) {
        if (bits != 0) {
            const std::size_t slot = word * 64 + lowest_bit(bits);
            return current_ + 1 + static_cast<std::int64_t>((slot - start) & static_cast<std::size_t>(mask_));
        }
        word = word + 1 == words ? 0 : word + 1;
        bits = occupied_[word];
    }
    return -1;
}

void WheelQueue::adopt(EventBuffer events) {
    clear();
    size_ = events.size();
    if (events.empty()) return;
    resize(std::clamp(std::bit_ceil(events.size() / events_a_bucket + 1), fewest_buckets, most_buckets));
    shift_ = fitting_shift(events);
    current_ = std::min_element(events.begin(), events.end(), earlier)->time >> shift_;
    for (const QueuedEvent& event : events) place(event);
}

void WheelQueue::retune() {
    EventBuffer events;
    for (; cursor_ < due_.size(); ++cursor_) events.push_back(due_[cursor_]);
    for_each_bucket([&](EventBuffer& bucket) {
        for (const QueuedEvent& event : bucket) events.push_back(event);
        bucket.clear();
    });
    for (HeapQueue* heap : {&late_, &far_}) {
        for (const QueuedEvent& event : heap->release()) events.push_back(event);
    }
    adopt(std::move(events));
}

unsigned WheelQueue::fitting_shift(EventBuffer& events) const {
    // Three quarters of the events shall lie in half the horizon; a few time-outs in an hour must not widen
    // the buckets.
    const std::int64_t start = std::min_element(events.begin(), events.end(), earlier)->time;
    QueuedEvent* const quartile = events.begin() + events.size() * 3 / 4;
    std::nth_element(events.begin(), quartile, events.end(), earlier);
    return static_cast<unsigned>(
        std::bit_width(static_cast<std::uint64_t>((quartile->time - start) / ((mask_ + 1) / 2))));
}

void WheelQueue::resize(std::size_t buckets) {
    if (buckets_.size() < buckets) buckets_.resize(buckets);
    occupied_.assign(buckets / 64, 0);
    mask_ = static_cast<std::int64_t>(buckets) - 1;
    crowded_at_ =
        buckets == most_buckets ? std::numeric_limits<std::size_t>::max() : 2 * events_a_bucket * buckets;
}

void WheelQueue::clear() {
    for_each_bucket([](EventBuffer& bucket) { bucket.clear(); });
    due_.clear();
    cursor_ = 0;
    late_.clear();
    far_.clear();
    resize(fewest_buckets);
    shift_ = first_shift;
    current_ = 0;
    size_ = 0;
}

}  // namespace deadrank::sim
