// results/emitters/c10d_names.h — Our words in c10d's spelling, and back: groups, operations, element types,
// sizes, and the wall clock at a run's zero.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include "results/record/codes.h"
#include "results/record/time.h"

namespace deadrank::results::emitters {

// A run's zero is 2026-01-01 00:00:00 UTC: evidence has no date, and files must be the same every time.
inline constexpr std::int64_t epoch_seconds = 1'767'225'600;
std::int64_t wall_clock(Time at);  // nanoseconds since 1970

// Communicator 1 is c10d's group "0", the default one.
std::string group_name(CommId comm);
std::string group_description(std::string_view name);  // "world" is "default_pg"

// The elements in a call's input and output on this rank; `count` is NCCL's: sent in an all-gather, received
// in a reduce-scatter, for each peer in an all-to-all.
std::pair<std::int64_t, std::int64_t> element_counts(Op op, std::int64_t count, std::int32_t size);
std::int64_t count_of(Op op, std::int64_t in, std::int64_t out, std::int32_t size);

std::string_view scalar_type(Dtype dtype);  // "Float"
Dtype dtype_of_scalar_type(std::string_view name);

// "nccl:all_reduce", "nccl:send 0->1", "nccl:recv 1<-0"; ranks are those in the group.
std::string profiling_name(Op op, Rank place, Rank peer);

struct ProfiledOp {
    Op op = Op::none;
    Rank peer = no_rank;
};
// Accepts any library's prefix and every spelling that torch has used; `op` is none for other names.
ProfiledOp op_of_profiling_name(std::string_view name);


// The value of NAME in "NAME=value" lines; empty when there is none.
std::string_view value_in(std::string_view lines, std::string_view name);

}  // namespace deadrank::results::emitters
