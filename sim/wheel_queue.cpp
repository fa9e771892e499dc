// sim/wheel_queue.cpp — Turning the wheel: find the next bucket by its bit, sort it, bring far events within
// the horizon.
#include "sim/wheel_queue.h"

#include <algorithm>
#include <bit>

namespace deadrank::sim {

namespace {

bool earlier(const QueuedEvent& one, const QueuedEvent& other) { return one.before(other); }

}  // namespace

void WheelQueue::advance() {
    std::int64_t next = next_occupied();
    if (next < 0) next = far_.top().time >> shift_;
    current_ = next;
    due_.clear();
    cursor_ = 0;
    const auto slot = static_cast<std::size_t>(current_ % bucket_count);
    due_.swap(buckets_[slot]);
    occupied_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
    // Far events are all later than every bucket, so only those of this very bucket can join it: when it was
    // empty.
    while (!far_.empty() && (far_.top().time >> shift_) < current_ + bucket_count) {
        const QueuedEvent event = far_.pop();
        if (event.time >> shift_ == current_) {
            due_.push_back(event);
        } else {
            place(event);
        }
    }
    if (!std::is_sorted(due_.begin(), due_.end(), earlier)) std::sort(due_.begin(), due_.end(), earlier);
}

std::int64_t WheelQueue::next_occupied() const {
    const auto start = static_cast<std::size_t>((current_ + 1) % bucket_count);
    const std::size_t words = occupied_.size();
    std::size_t word = start / 64;
    std::uint64_t bits = occupied_[word] & (~std::uint64_t{0} << start % 64);
    for (std::size_t looked = 0; looked <= words; ++looked) {
        if (bits != 0) {
            const std::size_t slot = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
            const std::size_t ahead = (slot + bucket_count - start) % bucket_count;
            return current_ + 1 + static_cast<std::int64_t>(ahead);
        }
        word = (word + 1) % words;
        bits = occupied_[word];
    }
    return -1;
}

void WheelQueue::adopt(EventBuffer events, unsigned shift) {
    clear();
    shift_ = shift;
    if (events.empty()) return;
    const auto first = std::min_element(events.begin(), events.end(), earlier);
    current_ = first->time >> shift_;
    size_ = events.size();
    for (const QueuedEvent& event : events) place(event);
}

unsigned WheelQueue::fitting_shift(EventBuffer& events) {
    if (events.empty()) return default_shift;
    // Three quarters of the events shall lie in half the horizon; a few time-outs in an hour must not widen
    // the buckets.
    const auto first = std::min_element(events.begin(), events.end(), earlier);
    const std::int64_t start = first->time;
    const auto quartile = events.begin() + static_cast<std::ptrdiff_t>(events.size() * 3 / 4);
    std::nth_element(events.begin(), quartile, events.end(), earlier);
    const auto span = static_cast<std::uint64_t>(quartile->time - start);
    return static_cast<unsigned>(std::bit_width(span / (bucket_count / 2)));
}

void WheelQueue::clear() {
    for (std::size_t word = 0; word < occupied_.size(); ++word) {
        for (std::uint64_t bits = occupied_[word]; bits != 0; bits &= bits - 1) {
            buckets_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))].clear();
        }
        occupied_[word] = 0;
    }
    due_.clear();
    cursor_ = 0;
    late_.clear();
    far_.clear();
    shift_ = default_shift;
    current_ = 0;
    size_ = 0;
}

}  // namespace deadrank::sim
