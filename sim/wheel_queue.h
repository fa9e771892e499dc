// sim/wheel_queue.h — A timing wheel: 8,192 buckets of 2^shift ns, far events in a heap until they come
// within the horizon. Insertion costs the same for ten events and for a million; a bucket is sorted only when
// its time has come.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/event_buffer.h"
#include "sim/heap_queue.h"
#include "sim/queued_event.h"

namespace deadrank::sim {

class WheelQueue {
public:
    static constexpr std::int64_t bucket_count = 8192;
    static constexpr unsigned default_shift = 3;  // 8 ns: fits latencies of some microseconds

    WheelQueue() : buckets_(bucket_count) {}

    // Takes over events of another queue, and fits the width of a bucket to how far apart they lie.
    void adopt(EventBuffer events, unsigned shift);
    static unsigned fitting_shift(EventBuffer& events);

    void push(const QueuedEvent& event) {
        ++size_;
        place(event);
    }

    QueuedEvent pop() {
        --size_;
        if (cursor_ == due_.size() && late_.empty()) advance();
        if (late_.empty() || (cursor_ < due_.size() && due_[cursor_].before(late_.top())))
            return due_[cursor_++];
        return late_.pop();
    }

    template <class Predicate>
    void remove_if(Predicate gone) {
        const QueuedEvent* first = due_.begin() + cursor_;  // those before it were taken off
        due_.remove_if([&](const QueuedEvent& event) { return &event < first || gone(event); });
        cursor_ = 0;
        late_.remove_if(gone);
        far_.remove_if(gone);
        size_ = due_.size() + late_.size() + far_.size();
        for (std::size_t slot = 0; slot < buckets_.size(); ++slot) {
            buckets_[slot].remove_if(gone);
            size_ += buckets_[slot].size();
            if (buckets_[slot].empty()) occupied_[slot / 64] &= ~(std::uint64_t{1} << slot % 64);
        }
    }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    void clear();

private:
    void place(const QueuedEvent& event) {
        const std::int64_t number = event.time >> shift_;
        if (number <= current_) {
            late_.push(event);
        } else if (number < current_ + bucket_count) {
            const auto slot = static_cast<std::size_t>(number % bucket_count);
            buckets_[slot].push_back(event);
            occupied_[slot / 64] |= std::uint64_t{1} << slot % 64;
        } else {
            far_.push(event);
        }
    }

    void advance();
    std::int64_t next_occupied() const;  // number of the next bucket with events; -1 when all are empty

    unsigned shift_ = default_shift;
    std::int64_t current_ = 0;  // number of the bucket whose events are due
    EventBuffer due_;           // its events, sorted; those before cursor_ are gone
    std::size_t cursor_ = 0;
    HeapQueue late_;  // came for the current bucket after it was sorted
    HeapQueue far_;   // beyond the horizon
    std::vector<EventBuffer> buckets_;
    std::array<std::uint64_t, bucket_count / 64> occupied_{};
    std::size_t size_ = 0;
};

}  // namespace deadrank::sim
