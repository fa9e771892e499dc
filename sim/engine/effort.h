// sim/engine/effort.h — What a run costs, as counts and not as time: equal on every machine, whatever else it
// does. A test holds them per rank and step, so that a loop over all ranks within a rank's own call shows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace deadrank::sim {

struct Effort {
    std::uint64_t visits = 0;    // of elements of a Counted
    std::uint64_t messages = 0;  // of collectives that are played out chunk by chunk
};

// A vector that counts how often its elements are visited. Going through it from begin() counts as all of
// them, also where a search ends early.
template <class T>
class Counted : private std::vector<T> {
    using Vector = std::vector<T>;

public:
    explicit Counted(Effort& effort) : effort_(&effort) {}

    using Vector::empty, Vector::size, Vector::clear, Vector::reserve;

    T& operator[](std::size_t at) { return visit(), Vector::operator[](at); }
    const T& operator[](std::size_t at) const { return visit(), Vector::operator[](at); }
    T& front() { return (*this)[0]; }
    const T& front() const { return (*this)[0]; }

    auto begin() { return visit(size()), Vector::begin(); }
    auto begin() const { return visit(size()), Vector::begin(); }
    auto end() { return Vector::end(); }
    auto end() const { return Vector::end(); }

    template <class... Arguments>
    T& emplace_back(Arguments&&... arguments) {
        return Vector::emplace_back(std::forward<Arguments>(arguments)...);
    }

private:
    void visit(std::size_t count = 1) const { effort_->visits += count; }

    Effort* effort_;
};

}  // namespace deadrank::sim
