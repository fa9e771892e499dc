// runners/backends/mpi_rank/mpi_library.h — Open MPI as our ranks use it: a communicator of the ranks that
// claimed their places, and non-blocking calls.
#pragma once

#include <mpi.h>

#include "runners/backends/ranks/comm_library.h"

namespace deadrank::runners {

class MpiLibrary final : public CommLibrary {
public:
    std::string_view name() const override { return "MPI"; }
    std::unique_ptr<Wire> join(RealRank& rank, const Joining& joining) override;
    std::string exception(results::Code, const std::string& text) const override {
        return "torch.distributed.DistBackendError: MPI error: " + text;
    }
    std::optional<std::string> wrong_root(std::int32_t root, std::int32_t size) const override;
    std::string no_communicator() const override { return "MPI_ERR_COMM: invalid communicator"; }
};

}  // namespace deadrank::runners
