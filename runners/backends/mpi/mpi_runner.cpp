// runners/backends/mpi/mpi_runner.cpp — mpirun starts the ranks; everything else is as for other real ranks.
#include "runners/backends/mpi/mpi_runner.h"

#include <fmt/format.h>

#include "runners/backends/process/mpirun.h"
#include "runners/backends/process/scratch.h"
#include "runners/backends/ranks/play.h"
#include "runners/backends/ranks/rank_levers.h"

namespace deadrank::runners {

scenarios::Result<void> mpi_is_there() {
    if (const auto program = mpi_rank_program(); !program) return tl::unexpected(program.error());
    if (const auto mpirun = mpirun_program(); !mpirun) return tl::unexpected(mpirun.error());
    return {};
}

scenarios::Capabilities MpiRunner::capabilities() const { return rank_capabilities("mpi", mpi_reach()); }

scenarios::Result<Record> MpiRunner::play(const scenarios::Plan& plan, const RunOptions& options) {
    const auto program = mpi_rank_program();
    if (!program) return tl::unexpected(program.error());
    const auto mpirun = mpirun_program();
    if (!mpirun) return tl::unexpected(mpirun.error());
    const auto children = [&](const scenarios::Plan& played, const std::filesystem::path& directory) {
        const bool bare = launcher_of(played) == scenarios::LauncherKind::bare;
        const MpiJob job{*mpirun, *program, directory, played.world_size(), bare};
        return std::vector<ChildSpec>{mpirun_child(job)};
    };
    return play_ranks(plan, options,
                      {.reach = mpi_reach(),
                       .says = fmt::format("real processes: Open MPI, {} ranks", plan.world_size()),
                       .starter = "mpirun",
                       .remedy = "see whether `mpirun --oversubscribe -np 2 hostname` works here",
                       .children = children,
                       .directories = {"sessions"}});
}

}  // namespace deadrank::runners
