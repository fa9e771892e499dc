// inject/shims/mpi/mpi_call.h — One MPI call: its arguments, and the bytes that it moves.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "inject/core/levers.h"
#include "inject/shims/mpi/mpi_below.h"

namespace deadrank::inject::shims {

// ── One collective or message in one form, so that a fault can change any part of it.

// One side's memory. Counts are of one rank's part, as MPI counts.
struct Side {
    void* data = nullptr;
    int count = 0;
    MPI_Datatype type = nullptr;
};

struct Call {
    Function which = Function::count;
    Side send, receive;  // of a broadcast and a Recv only `receive`, of a Send only `send`
    MPI_Op reduce = nullptr;
    int root = -1;  // or the peer of a message; -1 = none
    MPI_Comm comm = nullptr;
    int tag = 0;
    int source = -1, receive_tag = 0;  // the other half of a Sendrecv
    std::vector<int> counts;           // Reduce_scatter: by rank
    MPI_Request* request = nullptr;    // of a call that returns before it is over
    MPI_Status* status = nullptr;
};

int issue(const Call& call);  // the real one

// Memory of ours in a call's way; it lives as long as the call is under way.
using Scratch = std::shared_ptr<std::vector<char>>;

// What is done when the call is over: a result copied to where the program wants it, a bit bent.
struct CompletionStep {
    Scratch from;
    char* to = nullptr;
    std::size_t bytes = 0;
    char* bend = nullptr;
    unsigned char mask = 0;

    void operator()() const;
};

struct Altered {
    Call call;
    std::vector<Scratch> kept;
    std::vector<CompletionStep> afterwards;
    std::string refused;  // why it cannot be altered so; the call is then as it was
};
Altered alter(const Call& asked, const Alteration& how);

// The call as it is kept for later, while the program goes on: what it sends is copied now.
Altered defer_call(const Call& asked);

// ── How much memory a call reads and writes on this rank, and which of it counts.

struct Seat {  // of this rank in a communicator
    int ranks = 1, me = 0;
};
Seat seat_in(MPI_Comm comm);

bool has_root(Function which);
bool sends(const Call& call, const Seat& seat);     // does this rank give data?
bool sends_in_place(const Call& call);              // and do they lie in the receive buffer?
bool receives(const Call& call, const Seat& seat);  // does it get data?
const Side& counted_side(const Call& call);         // whose count and type are those of the call
std::size_t width_of(MPI_Datatype type);            // bytes from one element to the next

// Bytes from the beginning of each buffer; 0 where the side does not count. Nothing for a datatype that
// reaches before its buffer.
struct Memory {
    std::size_t send = 0, receive = 0;
};
std::optional<Memory> memory_of(const Call& call, const Seat& seat);

bool on_stack(const void* address);  // of this thread

}  // namespace deadrank::inject::shims
