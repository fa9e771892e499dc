// runners/mpi/linked/calls.h — One call handed to MPI, never blocking: what it needs, and its buffers where a
// fault made them other than the caller's.
#pragma once

#include <mpi.h>
#include <string>
#include <vector>

#include "sim/comm.h"

namespace deadrank::runners {

struct MpiCall {
    results::Op op = results::Op::none;
    const sim::Number* in = nullptr;
    sim::Number* out = nullptr;
    std::int64_t in_size = 0, out_size = 0;
    std::int64_t count = 0;  // elements, as NCCL counts them for this operation
    std::int32_t root = -1;  // or the peer
    std::int32_t tag = 0;
    results::Dtype dtype = results::Dtype::f32, declared = results::Dtype::f32;  // as called, as meant
    results::ReduceOp reduce = results::ReduceOp::sum;
    std::int64_t flip_bit = -1;
    bool flip_received = false;
};

// A call under way. It outlives whoever waits for it: MPI may still read and write its buffers.
class MpiOperation {
public:
    MpiOperation(const MpiCall& call, MPI_Comm comm);
    MpiOperation(const MpiOperation&) = delete;
    MpiOperation& operator=(const MpiOperation&) = delete;

    bool done();  // asks MPI; after it, the caller's buffers are filled
    bool failed() const { return error_ != MPI_SUCCESS; }
    std::string error_text() const;

private:
    void begin(MPI_Comm comm, MPI_Datatype type, const sim::Number* in, sim::Number* out);
    bool alters() const;
    void deliver();

    MpiCall call_;
    int rank_ = 0, size_ = 1;
    int error_ = MPI_SUCCESS;
    MPI_Request request_ = MPI_REQUEST_NULL;
    bool over_ = false;
    std::vector<sim::Number> in_, out_;
};

}  // namespace deadrank::runners
