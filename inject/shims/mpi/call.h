// inject/shims/mpi/call.h — One collective or message in one form, so that a fault can change any part of it.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "inject/core/levers.h"
#include "inject/shims/mpi/library.h"

namespace deadrank::inject::shims {

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
struct Afterwards {
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
    std::vector<Afterwards> afterwards;
    std::string refused;  // why it cannot be altered so; the call is then as it was
};
Altered alter(const Call& asked, const Alteration& how);

// The call as it is kept for later, while the program goes on: what it sends is copied now.
Altered put_aside(const Call& asked);

}  // namespace deadrank::inject::shims
