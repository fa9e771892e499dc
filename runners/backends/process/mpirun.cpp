// runners/backends/process/mpirun.cpp — What Open MPI writes (sessions, shared memory) goes to the run's own
// directory, so that nothing stays when it is removed.
#include "runners/backends/process/mpirun.h"

#include "results/external/tool_program.h"
#include "runners/backends/process/home.h"

namespace deadrank::runners {

namespace fs = std::filesystem;
using scenarios::ErrorCode;
using scenarios::refuse;

namespace {

constexpr const char* rank_program_name = "deadrank-mpi-rank";

std::vector<std::string> environment_for(const MpiJob& job) {
    auto lines = environment_of_ranks(job.directory, {"OMPI_", "PMIX_", "PMI_", "ORTE_"});
    lines.emplace_back("OMPI_ALLOW_RUN_AS_ROOT=1");
    lines.emplace_back("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1");
    return lines;
}

}  // namespace

scenarios::Result<fs::path> mpi_rank_program() {
    const fs::path program = program_beside(rank_program_name);
    if (!program.empty()) return program;
    return refuse(ErrorCode::unsupported, "this build has no program for the ranks of an MPI job",
                  "install Open MPI (Debian: libopenmpi-dev, openmpi-bin), configure and build again");
}

scenarios::Result<fs::path> mpirun_program() {
    if (const std::string program = results::external::find_program("mpirun"); !program.empty())
        return fs::path(program);
    return refuse(ErrorCode::environment, "there is no mpirun on PATH",
                  "install Open MPI (Debian: openmpi-bin), or name its directory in PATH");
}

std::vector<std::string> mpirun_words(const MpiJob& job) {
    std::vector<std::string> words = {job.mpirun.string(), "--oversubscribe", "--bind-to", "none"};
    const auto parameter = [&](const char* name, const std::string& value) {
        words.insert(words.end(), {"--mca", name, value});
    };
    parameter("plm", "isolated");  // all on this machine: no ssh is looked for
    parameter("btl", "self,vader");
    parameter("btl_vader_single_copy_mechanism", "none");  // a container may not read its neighbour's memory
    parameter("btl_vader_backing_directory", (job.directory / "sessions").string());
    parameter("orte_tmpdir_base", (job.directory / "sessions").string());
    parameter("mpi_yield_when_idle", "1");
    return words;
}

ChildSpec mpirun_child(const MpiJob& job) {
    ChildSpec child;
    child.command = mpirun_words(job);
    child.command.insert(child.command.end(), {"-np", std::to_string(job.ranks)});
    child.command.push_back(job.rank_program.string());
    child.command.push_back(job.directory.string());
    if (job.bare) child.command.emplace_back("bare");
    child.environment = environment_for(job);
    return child;
}

}  // namespace deadrank::runners
