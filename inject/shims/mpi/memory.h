// inject/shims/mpi/memory.h — How much memory a call reads and writes on this rank, and which of it counts.
#pragma once

#include <optional>

#include "inject/shims/mpi/call.h"

namespace deadrank::inject::shims {

struct Seat {  // of this rank in a communicator
    int ranks = 1, me = 0;
};
Seat seat_in(MPI_Comm comm);

bool has_root(Function which);
bool sends(const Call& call, const Seat& seat);     // does this rank give data?
bool sends_in_place(const Call& call);              // and do they lie in the receive buffer?
bool receives(const Call& call, const Seat& seat);  // does it get data?
const Side& told_side(const Call& call);            // whose count and type are those of the call
std::size_t width_of(MPI_Datatype type);            // bytes from one element to the next

// Bytes from the beginning of each buffer; 0 where the side does not count. Nothing for a datatype that
// reaches before its buffer.
struct Memory {
    std::size_t send = 0, receive = 0;
};
std::optional<Memory> memory_of(const Call& call, const Seat& seat);

bool on_stack(const void* address);  // of this thread

}  // namespace deadrank::inject::shims
