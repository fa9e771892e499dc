// tests/standin/programs/many_processes_main.cpp — Many processes by MPI, one device each: a blocking
// communicator, then one that does not block and is polled for, then aborts while a collective can never
// complete, and while the others never come into the communicator.
#include <chrono>
#include <mpi.h>
#include <thread>

#include "tests/standin/programs/rank.h"

namespace {

using namespace program;

ncclUniqueId shared_id(int rank) {
    ncclUniqueId id;
    if (rank == 0) good(ncclGetUniqueId(&id), "ncclGetUniqueId");
    MPI_Bcast(&id, sizeof id, MPI_BYTE, 0, MPI_COMM_WORLD);
    return id;
}

void poll(ncclComm_t comm, const char* what) {
    ncclResult_t state = ncclInProgress;
    while (state == ncclInProgress) {
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
        good(ncclCommGetAsyncError(comm, &state), "ncclCommGetAsyncError");
    }
    good(state, what);
}

long without_blocking(Rank one) {
    ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
    config.blocking = 0;
    const ncclUniqueId id = shared_id(one.rank);
    const ncclResult_t first = ncclCommInitRankConfig(&one.comm, one.size, id, one.rank, &config);
    if (first != ncclSuccess && first != ncclInProgress) good(first, "ncclCommInitRankConfig");
    poll(one.comm, "non-blocking init");
    Ranks ranks{one};
    const long wrong = all_values(ranks, false);
    const ncclResult_t last = ncclCommFinalize(one.comm);
    if (last != ncclSuccess && last != ncclInProgress) good(last, "ncclCommFinalize");
    poll(one.comm, "finalize");
    good(ncclCommDestroy(one.comm), "ncclCommDestroy");
    return wrong;
}

// Rank 0 calls nobody else's collective; it must not complete, and an abort must free the stream.
long aborted(Rank one) {
    good(ncclCommInitRank(&one.comm, one.size, shared_id(one.rank), one.rank), "ncclCommInitRank");
    long trouble = 0;
    if (one.rank == 0) {
        void* buffer = nullptr;
        good(cudaMalloc(&buffer, 64), "cudaMalloc");
        good(ncclAllReduce(buffer, buffer, 16, ncclFloat, ncclSum, one.comm, one.stream), "ncclAllReduce");
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        trouble += cudaStreamQuery(one.stream) == cudaErrorNotReady ? 0 : 1;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    good(ncclCommAbort(one.comm), "ncclCommAbort");
    one.wait();
    return trouble;
}

// Nobody but rank 0 comes.
long aborted_while_opening(Rank one) {
    const ncclUniqueId id = shared_id(one.rank);
    long trouble = 0;
    if (one.rank == 0) {
        ncclConfig_t config = NCCL_CONFIG_INITIALIZER;
        config.blocking = 0;
        trouble += ncclCommInitRankConfig(&one.comm, one.size, id, 0, &config) != ncclInProgress;
        std::this_thread::sleep_for(std::chrono::milliseconds(100));
        ncclResult_t state = ncclSuccess;
        good(ncclCommGetAsyncError(one.comm, &state), "ncclCommGetAsyncError");
        trouble += state != ncclInProgress;
        trouble += ncclAllReduce(nullptr, nullptr, 0, ncclFloat, ncclSum, one.comm, one.stream) !=
                   ncclInvalidArgument;
        good(ncclCommAbort(one.comm), "ncclCommAbort");
        config.magic = 0;
        trouble += ncclCommInitRankConfig(&one.comm, one.size, id, 0, &config) != ncclInvalidArgument;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    return trouble;
}

}  // namespace

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    Rank one;
    MPI_Comm_rank(MPI_COMM_WORLD, &one.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &one.size);
    one.device = one.rank;
    one.begin();
    good(ncclCommInitRank(&one.comm, one.size, shared_id(one.rank), one.rank), "ncclCommInitRank");
    Ranks ranks{one};
    long wrong = all_values(ranks, false) + split_values(ranks);
    good(ncclCommDestroy(one.comm), "ncclCommDestroy");
    wrong += without_blocking(one) + aborted(one) + aborted_while_opening(one);
    long sum = 0;
    MPI_Reduce(&wrong, &sum, 1, MPI_LONG, MPI_SUM, 0, MPI_COMM_WORLD);
    if (one.rank == 0) std::printf("%ld wrong values\n", sum);
    MPI_Finalize();
    return wrong == 0 ? 0 : 1;
}
