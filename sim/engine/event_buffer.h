// sim/engine/event_buffer.h — A growing array of events whose push inlines down to three stores.
// std::vector's does not, and the copy through memory it makes instead stalls the load behind it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>
#include <utility>

namespace deadrank::sim {

// An entry of the event queue: 24 bytes that say when, in which order, for whom, and what.
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
