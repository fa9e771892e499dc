// runners/backends/gpu_rank/device_kernels.h — What our ranks compute on a device. NVRTC compiles this text
// for a GPU, and the host compiler makes functions of it for the drop-in, so it includes nothing.
#pragma once

extern "C" __global__ void deadrank_fill(unsigned long long* to, unsigned long long count,
                                         unsigned long long value) {
    const unsigned long long at = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
    if (at < count) to[at] = value;
}

// Adds up a hash of each number and its index, so the order of the threads does not matter.
extern "C" __global__ void deadrank_digest(const unsigned long long* from, unsigned long long count,
                                           unsigned long long* sum) {
    const unsigned long long at = blockIdx.x * static_cast<unsigned long long>(blockDim.x) + threadIdx.x;
    if (at >= count) return;
    unsigned long long mixed = from[at] + (at + 1) * 0x9e3779b97f4a7c15ULL;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9ULL;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebULL;
    atomicAdd(sum, mixed ^ (mixed >> 31));
}

extern "C" __global__ void deadrank_flip(unsigned long long* words, unsigned long long bit) {
    if (blockIdx.x == 0 && threadIdx.x == 0) words[bit / 64] ^= 1ULL << bit % 64;
}
