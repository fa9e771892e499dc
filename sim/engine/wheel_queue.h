// sim/engine/wheel_queue.h — A timing wheel: buckets of 2^shift ns, far events in a heap until they come
// within the horizon. Insertion costs the same for ten events and for a million; a bucket is sorted only when
// its time has come. Number and width of the buckets follow the load, so that a small run works within a
// small cache.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sim/engine/event_buffer.h"
#include "sim/engine/heap_queue.h"

namespace deadrank::sim {

class WheelQueue {
public:
    WheelQueue() { resize(fewest_buckets); }

    // Takes over the events of another queue.
    void adopt(EventBuffer events);

    void push(const QueuedEvent& event) {
        ++size_;
        place(event);
        if (size_ > crowded_at_) retune();
    }

    QueuedEvent pop() {
        --size_;
        if (cursor_ == due_.size() && late_.empty()) advance();
        if (late_.empty() || (cursor_ < due_.size() && due_[cursor_].before(late_.top()))) {
            return due_[cursor_++];
        }
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
        for_each_bucket([&](EventBuffer& bucket) {
            bucket.remove_if(gone);
            size_ += bucket.size();
        });
    }

    // The event `ahead` places behind the next one, as far as known; null otherwise. A hint for the cache.
    const QueuedEvent* peek_ahead(std::size_t ahead) const {
        return cursor_ + ahead < due_.size() ? &due_[cursor_ + ahead] : nullptr;
    }

    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    void clear();

private:
    static constexpr std::size_t fewest_buckets = 128;
    static constexpr std::size_t most_buckets = 8192;
    static constexpr std::size_t events_a_bucket = 16;  // enough to look ahead, few enough to sort
    static constexpr unsigned first_shift = 5;

    void place(const QueuedEvent& event) {
        const std::int64_t number = event.time >> shift_;
        if (number <= current_) {
            late_.push(event);
        } else if (number - current_ <= mask_) {
            const auto slot = static_cast<std::size_t>(number & mask_);
            buckets_[slot].push_back(event);
            occupied_[slot / 64] |= std::uint64_t{1} << slot % 64;
        } else {
            far_.push(event);
        }
    }

    // Visits the buckets that hold events, and clears the bit of those that no longer do.
    template <class Visitor>
    void for_each_bucket(Visitor visit) {
        for (std::size_t word = 0; word < occupied_.size(); ++word) {
            for (std::uint64_t bits = occupied_[word]; bits != 0; bits &= bits - 1) {
                EventBuffer& bucket = buckets_[word * 64 + lowest_bit(bits)];
                visit(bucket);
                if (bucket.empty()) occupied_[word] &= ~(bits & -bits);
            }
        }
    }

    static std::size_t lowest_bit(std::uint64_t bits);
    unsigned fitting_shift(EventBuffer& events) const;
    void advance();
    void sort_due();
    void retune();
    void resize(std::size_t buckets);
    std::int64_t next_occupied() const;  // number of the next bucket with events; -1 when all are empty

    unsigned shift_ = first_shift;
    std::int64_t mask_ = 0;       // buckets in use, less one; a power of two less one
    std::int64_t current_ = 0;    // number of the bucket whose events are due
    std::size_t crowded_at_ = 0;  // more events than this deserve more buckets
    EventBuffer due_;             // its events, sorted; those before cursor_ are gone
    std::size_t cursor_ = 0;
    HeapQueue late_;  // came for the current bucket after it was sorted
    HeapQueue far_;   // beyond the horizon
    std::vector<EventBuffer> buckets_;
    std::vector<std::uint64_t> occupied_;  // one bit a bucket in use
    std::size_t size_ = 0;
};

}  // namespace deadrank::sim
