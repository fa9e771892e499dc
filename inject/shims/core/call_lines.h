// inject/shims/core/call_lines.h — What is written down of one collective or message, and where the bit of a
// plan lies in its buffer: the same for every library.
#pragma once

#include <cstddef>

#include "inject/shims/core/line.h"
#include "results/record/codes.h"

namespace deadrank::inject::shims {

struct SeenCall {
    results::Rank rank = results::no_rank;
    results::CommId comm = 0;
    std::int64_t number = 0;  // of its kind, on this communicator
    results::Op op = results::Op::none;
    int root = -1;  // or the peer of a message
    std::int64_t count = 0;
    results::Dtype dtype = results::Dtype::none;
    results::ReduceOp reduce = results::ReduceOp::none;  // `none` where nothing is reduced
};

bool is_message(results::Op op);

Line enter_line(const SeenCall& call);
Line leave_line(const SeenCall& call, results::Code result);

// Plans count 64 bits an element; a narrower one has the bit at the same height.
struct Bit {
    std::size_t byte;
    unsigned char mask;
};
Bit place_of(std::int64_t bit, std::size_t count, std::size_t width);

}  // namespace deadrank::inject::shims
