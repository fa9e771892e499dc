// sim/engine/queue.h — What will happen, in order of (time, tie, sequence). A 4-ary heap while few events are
// in flight, a timing wheel above that; both give the same order, so the choice is seen in speed only.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>

#include "sim/engine/heap_queue.h"
#include "sim/engine/wheel_queue.h"

namespace deadrank::sim {

enum class QueueKind { automatic, heap, wheel };

// No virtual calls: one well-predicted branch an operation.
class EventQueue {
public:
    explicit EventQueue(QueueKind kind = QueueKind::automatic) { reset(kind); }

    // Empties the queue; memory is kept for the next run.
    void reset(QueueKind kind);

    void push(const QueuedEvent& event) {
        if (on_wheel_) return wheel_.push(event);
        heap_.push(event);
        if (heap_.size() > turn_to_wheel_at_) turn_to_wheel();
    }

    // Takes the earliest event off. The queue must not be empty.
    QueuedEvent pop() { return on_wheel_ ? wheel_.pop() : heap_.pop(); }

    // Drops every event for which `gone` is true; the order of the others stays.
    template <class Predicate>
    void remove_if(Predicate gone) {
        on_wheel_ ? wheel_.remove_if(gone) : heap_.remove_if(gone);
    }

    const QueuedEvent* peek_ahead(std::size_t ahead) const {
        return on_wheel_ ? wheel_.peek_ahead(ahead) : nullptr;
    }
    bool empty() const { return size() == 0; }
    std::size_t size() const { return on_wheel_ ? wheel_.size() : heap_.size(); }
    bool on_wheel() const { return on_wheel_; }

private:
    void turn_to_wheel();

    bool on_wheel_ = false;
    std::size_t turn_to_wheel_at_ = 0;
    HeapQueue heap_;
    WheelQueue wheel_;
};

}  // namespace deadrank::sim
