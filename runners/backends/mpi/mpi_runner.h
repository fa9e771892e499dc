// runners/backends/mpi/mpi_runner.h — Plays a plan as an Open MPI job on this machine: the simulator's
// workloads, unchanged, in real processes with real messages.
#pragma once

#include "runners/backend/runner.h"

namespace deadrank::runners {

class MpiRunner final : public Runner {
public:
    std::string_view name() const override { return "mpi"; }
    scenarios::Capabilities capabilities() const override;

    // Errors: unsupported (what MPI cannot do), environment (no mpirun), io. One run at a time is best: the
    // ranks share the machine's cores.
    scenarios::Result<Record> play(const scenarios::Plan& plan, const RunOptions& options) override;
};

// Whether this machine and this build can play MPI jobs at all. Errors: unsupported, environment.
scenarios::Result<void> mpi_is_there();

}  // namespace deadrank::runners
