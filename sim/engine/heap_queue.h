// sim/engine/heap_queue.h — A 4-ary heap: shallow, contiguous, and without a tuning knob. The best queue for
// a few thousand events.
#pragma once

#include <algorithm>
#include <cstddef>
#include <utility>

#include "sim/engine/event_buffer.h"

namespace deadrank::sim {

class HeapQueue {
public:
    void push(const QueuedEvent& event) {
        events_.push_back(event);
        rise(events_.size() - 1, event);
    }

    const QueuedEvent& top() const { return events_[0]; }

    QueuedEvent pop() {
        const QueuedEvent first = events_[0];
        const QueuedEvent last = events_[events_.size() - 1];
        events_.pop_back();
        if (!events_.empty()) sink(0, last);
        return first;
    }

    template <class Predicate>
    void remove_if(Predicate gone) {
        events_.remove_if(gone);
        for (std::size_t i = events_.size() / 4 + 1; i-- > 0;) {
            if (i < events_.size()) sink(i, QueuedEvent(events_[i]));
        }
    }

    std::size_t size() const { return events_.size(); }
    bool empty() const { return events_.empty(); }
    void clear() { events_.clear(); }

    // Hands all events over, in no order, and is empty afterwards.
    EventBuffer release() { return std::exchange(events_, {}); }

private:
    // Both move a hole instead of swapping: half the stores.
    void rise(std::size_t hole, const QueuedEvent& event) {
        while (hole > 0) {
            const std::size_t parent = (hole - 1) / 4;
            if (!event.before(events_[parent])) break;
            events_[hole] = events_[parent];
            hole = parent;
        }
        events_[hole] = event;
    }

    void sink(std::size_t hole, const QueuedEvent& event) {
        const std::size_t size = events_.size();
        for (;;) {
            const std::size_t first = hole * 4 + 1;
            if (first >= size) break;
            const std::size_t end = std::min(first + 4, size);
            std::size_t least = first;
            for (std::size_t child = first + 1; child < end; ++child) {
                if (events_[child].before(events_[least])) least = child;
            }
            if (!events_[least].before(event)) break;
            events_[hole] = events_[least];
            hole = least;
        }
        events_[hole] = event;
    }

    EventBuffer events_;
};

}  // namespace deadrank::sim
