// sim/engine/event_buffer.h — A growing array of events whose push inlines down to three stores.
// std::vector's does not, and the copy through memory it makes instead stalls the load behind it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <new>
#include <utility>

#include "sim/engine/queued_event.h"

namespace deadrank::sim {

class EventBuffer {
public:
    EventBuffer() = default;
    ~EventBuffer() { std::free(data_); }
    EventBuffer(EventBuffer&& other) noexcept { swap(other); }
    EventBuffer& operator=(EventBuffer&& other) noexcept {
        swap(other);
        return *this;
    }

    void push_back(const QueuedEvent& event) {
        if (size_ == capacity_) grow();
        data_[size_++] = event;
    }
    void pop_back() { --size_; }
    void clear() { size_ = 0; }

    template <class Predicate>
    void remove_if(Predicate gone) {
        size_ = static_cast<std::size_t>(std::remove_if(begin(), end(), gone) - begin());
    }

    QueuedEvent& operator[](std::size_t index) { return data_[index]; }
    const QueuedEvent& operator[](std::size_t index) const { return data_[index]; }
    QueuedEvent* begin() { return data_; }
    QueuedEvent* end() { return data_ + size_; }
    std::size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }

    void swap(EventBuffer& other) noexcept {
        std::swap(data_, other.data_);
        std::swap(size_, other.size_);
        std::swap(capacity_, other.capacity_);
    }

private:
    void grow() {
        const std::size_t capacity = capacity_ == 0 ? 4 : capacity_ * 2;
        void* data = std::realloc(static_cast<void*>(data_), capacity * sizeof(QueuedEvent));
        if (!data) throw std::bad_alloc();
        data_ = static_cast<QueuedEvent*>(data);
        capacity_ = capacity;
    }

    QueuedEvent* data_ = nullptr;
    std::size_t size_ = 0;
    std::size_t capacity_ = 0;
};

}  // namespace deadrank::sim
