// runners/backends/catalog/backend.cpp — An explicit table of runners.
#include "runners/backends/catalog/backend.h"

#include <algorithm>
#include <fmt/format.h>

#include "runners/backend/memory.h"
#include "runners/backends/gpu/gpu_runner.h"
#include "runners/backends/local/local_runner.h"
#include "runners/backends/mpi/mpi_runner.h"
#include "runners/backends/sim/sim_runner.h"
#include "scenarios/model/vocabulary.h"

namespace deadrank::runners {

using scenarios::ErrorCode;
using scenarios::refuse;

scenarios::Result<std::unique_ptr<Runner>> make_runner(const std::string& name, const Extension& extension) {
    using scenarios::BackendId;
    static const std::vector<BackendId> known = {BackendId::sim, BackendId::local, BackendId::mpi,
                                                 BackendId::gpu};
    if (name == BackendId::sim)
        return std::make_unique<SimRunner>(extension.workloads, extension.all_faults(), extension.python);
    if (name == BackendId::local) return std::make_unique<LocalRunner>();
    if (name == BackendId::mpi) return std::make_unique<MpiRunner>();
    if (name == BackendId::gpu) return std::make_unique<GpuRunner>();
    const std::string near = scenarios::nearest(name, scenarios::words_of(known));
    return refuse(
        ErrorCode::usage, fmt::format("'{}' is no runner", name),
        near.empty() ? "there are sim, local, mpi and gpu" : fmt::format("did you mean '{}'?", near));
}

int usual_jobs(const std::string& runner) {
    return runner == scenarios::BackendId::sim ? processor_count() : 1;
}

}  // namespace deadrank::runners
