// runners/backends/local/mpi_program.cpp — What remains of the MPI runner where the program is not ours:
// mpirun's settings. The rest is that of a command which starts its own ranks.
#include "runners/backends/local/mpi_program.h"

#include <fmt/format.h>

#include "runners/backends/local/local_runner.h"
#include "runners/backends/process/home.h"
#include "runners/backends/process/mpirun.h"

namespace deadrank::runners {

using scenarios::ErrorCode;
using scenarios::refuse;

namespace {

// Its calls are all that is seen of it.
scenarios::Result<void> shows_the_moments(const scenarios::Plan& plan) {
    for (const scenarios::FaultSpec& fault : plan.faults) {
        const scenarios::Trigger& when = fault.when;
        if (when.step < 0 && when.until_step < 0 && when.phase.empty()) continue;
        return refuse(
            ErrorCode::unsupported,
            fmt::format("{} waits for a step or a phase, which an MPI program does not show", fault.kind),
            "name a call, as in when = { before = \"all_reduce\", nth = 3 }");
    }
    return {};
}

Manifest started_by(const std::filesystem::path& mpirun, const std::filesystem::path& library,
                    const std::vector<std::string>& command) {
    Manifest manifest = typed_subject(command);
    const MpiJob job{mpirun, {}, "{checkpoints}", 1, false};
    manifest.command = mpirun_words(job);
    const std::string preload = library.string() + ":" + files_shim().string();  // else its guard is lost
    manifest.command.insert(manifest.command.end(), {"-np", "{ranks}", "-x", "LD_PRELOAD=" + preload});
    manifest.command.insert(manifest.command.end(), command.begin(), command.end());
    manifest.environment["OMPI_ALLOW_RUN_AS_ROOT"] = "1";
    manifest.environment["OMPI_ALLOW_RUN_AS_ROOT_CONFIRM"] = "1";
    manifest.hook = false;
    return manifest;
}

}  // namespace

scenarios::Capabilities MpiProgram::capabilities() const {
    return {.backend = "mpi",
            .levers = {"kill", "exit", "stop", "alter_call.answer", "alter_call.count", "alter_call.delay",
                       "alter_call.dtype", "alter_call.flip", "alter_call.hang", "alter_call.hold",
                       "alter_call.root", "alter_call.skip"},
            .workloads = {"*"},
            .ranks_max = 16};
}

scenarios::Result<Record> MpiProgram::run(const scenarios::Plan& plan, const RunOptions& options) {
    if (const auto shown = shows_the_moments(plan); !shown) return tl::unexpected(shown.error());
    const auto mpirun = mpirun_program();
    if (!mpirun) return tl::unexpected(mpirun.error());
    const auto library = mpi_shim();
    if (library.empty())
        return refuse(ErrorCode::unsupported, "libdeadrank-mpi.so is not beside this program",
                      "install Open MPI (Debian: libopenmpi-dev) and build again, without a sanitizer");
    scenarios::Plan played = plan;
    played.cluster.erase("launcher");  // it is mpirun, whatever else would have been
    return LocalRunner(started_by(*mpirun, library, command_)).run(played, options);
}

}  // namespace deadrank::runners
