// inject/standin/exchange/exchange_wire.h — What a rank and the coordinator say to each other: a frame's
// head, then one of these, then the bytes of a buffer. Both ends are on one machine, so numbers travel as
// they lie in memory.
#pragma once

#include <cstdint>

#include "results/record/codes.h"

namespace deadrank::inject::standin {

enum class Kind : std::uint32_t { hello, joined, call, done, gone, leave };

struct Head {
    Kind kind = Kind::hello;
    std::uint32_t spare = 0;
    std::uint64_t size = 0;  // bytes that follow
};

// A rank joins the communicator of that name.
struct Hello {
    char communicator[160] = {};
    std::int32_t rank = 0, size = 0;
    std::int32_t version = 0;  // of its NCCL, as ncclGetVersion tells it
    std::int32_t device = 0;   // its number on the machine
    std::uint64_t host = 0;    // ranks with the same one share memory, others are joined by a network
};

// All members have joined; or they cannot work together, and a text follows.
struct Joined {
    std::int32_t code = 0;
};

// Elements as ncclDataType_t numbers them.
enum class Element : std::uint8_t { i8, u8, i32, u32, i64, u64, f16, f32, f64, bf16, e4m3, e5m2 };
constexpr int element_kinds = 12;

// The first five as ncclRedOp_t numbers them.
enum class Reduction : std::uint8_t { sum, prod, max, min, avg, scaled_sum };

struct Call {
    std::uint64_t number = 0;    // the caller's own name for it; the answer repeats it
    std::uint64_t sequence = 0;  // among the communicator's collectives, or among the messages of a pair
    std::uint64_t count = 0;     // NCCL's count
    std::uint64_t scale = 0;     // of scaled_sum: one element, as it lies in memory
    results::Op op = results::Op::none;  // none: members tell each other something of their own
    Element element = Element::i8;
    Reduction reduction = Reduction::sum;
    bool stuck = false;      // its kernel never completes
    std::int32_t peer = -1;  // root, receiver or sender
};

struct Done {
    std::uint64_t number = 0;
};

// A member's connection broke, or it aborted: its calls that have not completed are withdrawn.
struct Gone {
    std::int32_t rank = 0;
    bool noticed = false;  // only a network reports it; shared memory does not
};

}  // namespace deadrank::inject::standin
