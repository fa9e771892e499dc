// tests/standin/programs/rank.h — One rank of a program: its communicator, device and stream, and answers
// that must be good. Written against CUDA and NCCL alone: it runs on GPUs as it is.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cuda_runtime.h>
#include <nccl.h>
#include <vector>

namespace program {

inline void good(cudaError_t code, const char* what) {
    if (code == cudaSuccess) return;
    std::printf("FAILED %s: %s\n", what, cudaGetErrorString(code));
    std::exit(2);
}

inline void good(ncclResult_t code, const char* what) {
    if (code == ncclSuccess) return;
    std::printf("FAILED %s: %d %s\n", what, static_cast<int>(code), ncclGetErrorString(code));
    std::exit(2);
}

struct Rank {
    int rank = 0, size = 1, device = 0;
    ncclComm_t comm = nullptr;
    cudaStream_t stream = nullptr;

    void begin() {
        good(cudaSetDevice(device), "cudaSetDevice");
        good(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreate");
    }
    void wait() const { good(cudaStreamSynchronize(stream), "cudaStreamSynchronize"); }
};

// The ranks of this process: one under MPI, all of them in a program of one process.
using Ranks = std::vector<Rank>;

// Every collective and message over every type and reduction; how many values were wrong.
long all_values(Ranks& ranks, bool print);
// The same ranks in communicators split off by parity, with the order turned round.
long split_values(Ranks& ranks);

}  // namespace program
