// runners/backends/mpi_rank/mpi_calls.h — One non-blocking MPI call, with its own buffers where a fault makes
// them differ from the caller's.
#pragma once

#include <mpi.h>
#include <string>
#include <vector>

#include "runners/backends/ranks/comm_library.h"

namespace deadrank::runners {

// A call in progress. It outlives its caller: MPI may still read and write its buffers.
class MpiOperation final : public Operation {
public:
    MpiOperation(const RealCall& call, MPI_Comm comm);
    MpiOperation(const MpiOperation&) = delete;
    MpiOperation& operator=(const MpiOperation&) = delete;

    bool done() override;
    results::Code code() const override {
        return failed() ? results::Code::internal_error : results::Code::ok;
    }
    std::string error_text() const override;

private:
    bool failed() const { return error_ != MPI_SUCCESS; }
    void begin(MPI_Comm comm, MPI_Datatype type, const sim::Number* in, sim::Number* out);
    bool alters() const;
    void deliver();

    RealCall call_;
    int rank_ = 0, size_ = 1;
    int error_ = MPI_SUCCESS;
    MPI_Request request_ = MPI_REQUEST_NULL;
    bool over_ = false;
    std::vector<sim::Number> in_, out_;
};

}  // namespace deadrank::runners
