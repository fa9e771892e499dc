// sim/engine/trace_hash.h — One 64-bit number for everything that happened, in order: two runs are the same
// run or they are not. A change detector, one multiplication an event; not a cryptographic hash.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace deadrank::sim {

inline constexpr std::uint64_t trace_hash_start = 0x243f6a8885a308d3u;  // the fraction of pi

// The 128-bit product of two mixed halves, folded, with the old value rotated in so that order counts.
constexpr std::uint64_t trace_step(std::uint64_t hash, std::uint64_t time, std::uint64_t order,
                                   std::uint64_t target, std::uint64_t digest) {
    __extension__ using Wide = unsigned __int128;
    const Wide product = Wide{hash ^ time ^ (target << 40)} * (order ^ digest ^ 0x9e3779b97f4a7c15u);
    return static_cast<std::uint64_t>(product) ^ static_cast<std::uint64_t>(product >> 64) ^
           (hash << 1 | hash >> 63);
}

// The hash of a whole run. Checkpoint k is its value after (k + 1) * checkpoint_every events, so that the
// first window in which two runs differ is found by bisection, without a trace.
class TraceHash {
public:
    static constexpr std::uint64_t checkpoint_every = 4096;

    void add(std::uint64_t time, std::uint64_t order, std::uint64_t target, std::uint64_t digest) {
        value_ = trace_step(value_, time, order, target, digest);
        if (++events_ % checkpoint_every == 0) checkpoints_.push_back(value_);
    }

    std::uint64_t value() const { return value_; }
    std::uint64_t events() const { return events_; }
    std::span<const std::uint64_t> checkpoints() const { return checkpoints_; }

    void reset() {
        value_ = trace_hash_start;
        events_ = 0;
        checkpoints_.clear();
    }

private:
    std::uint64_t value_ = trace_hash_start;
    std::uint64_t events_ = 0;
    std::vector<std::uint64_t> checkpoints_;
};

// The first window of events, [first, last), in which the runs behind two lists of checkpoints can differ.
struct TraceWindow {
    std::uint64_t first = 0;
    std::uint64_t last = UINT64_MAX;
};
TraceWindow first_difference(std::span<const std::uint64_t> one, std::span<const std::uint64_t> other);

}  // namespace deadrank::sim
