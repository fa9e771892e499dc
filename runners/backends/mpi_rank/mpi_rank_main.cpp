// runners/backends/mpi_rank/mpi_rank_main.cpp — The program that mpirun starts: a keeper, and the rank as its
// child.
#include <fmt/format.h>
#include <mpi.h>
#include <unistd.h>

#include "runners/backends/mpi_rank/mpi_library.h"
#include "runners/backends/ranks/life.h"
#include "runners/backends/ranks/rank_levers.h"

namespace deadrank::runners {

namespace {

int live_in_mpi(const std::filesystem::path& directory, const Keeper& keeper) {
    MPI_Init(nullptr, nullptr);
    // Open MPI calls the world's handler, not the communicator's, when a collective in progress fails.
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MpiLibrary library;
    const Reach reach = mpi_reach();
    const int code =
        live({directory, rank, [&] { return agree_on_clock(directory); }, keeper, reach, library});
    if (code != 0) _exit(code);  // like a script that raised: without MPI_Finalize
    MPI_Finalize();
    return 0;
}

int started_by_mpirun(const std::filesystem::path& directory, bool bare) {
    const char* rank = std::getenv("OMPI_COMM_WORLD_RANK");
    const char* size = std::getenv("OMPI_COMM_WORLD_SIZE");
    const Kept kept{directory, std::atoi(rank), size ? std::atoi(size) : 1, bare};
    return keep(kept, [&](const Keeper& keeper) { return live_in_mpi(directory, keeper); });
}

}  // namespace

}  // namespace deadrank::runners

int main(int argc, char** argv) {
    using namespace std::string_view_literals;
    if (argc < 2 || argv[1] == "--help"sv || !std::getenv("OMPI_COMM_WORLD_RANK")) {
        fmt::print(stderr,
                   "deadrank-mpi-rank DIRECTORY [bare]: one rank; `deadrank run --runner mpi` starts it\n");
        return 64;
    }
    return deadrank::runners::started_by_mpirun(argv[1], argc > 2 && argv[2] == "bare"sv);
}
