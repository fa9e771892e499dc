// tests/standin/programs/kernels.h — Two small kernels that compile both ways: by nvcc for a GPU, and by any
// compiler as functions that the stream calls. What a program does with them is the same.
#pragma once

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#ifndef __CUDACC__
#include "inject/standin/kernels/host_kernels.h"
#endif

namespace program {

// Small whole numbers, which every type holds exactly and of which every sum here is exact too.
template <class T>
__global__ void fill(T* to, unsigned long count, int rank) {
    const unsigned long at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count) to[at] = T(static_cast<float>(1 + (static_cast<unsigned long>(rank) + at) % 2));
}

// Clears the mark of each place where `from` is what was expected: what no kernel looked at counts as wrong.
template <class T>
__global__ void compare(const T* from, const T* expected, unsigned long count, unsigned char* wrong) {
    const unsigned long at = blockIdx.x * blockDim.x + threadIdx.x;
    if (at < count && static_cast<float>(from[at]) == static_cast<float>(expected[at])) wrong[at] = 0;
}

constexpr unsigned block = 64;

template <class... Parameters, class... Arguments>
void launch(void (*kernel)(Parameters...), unsigned long count, cudaStream_t stream, Arguments... arguments) {
    const unsigned blocks = static_cast<unsigned>((count + block - 1) / block);
#ifdef __CUDACC__
    kernel<<<blocks, block, 0, stream>>>(arguments...);
#else
    const auto call = [=] {
        deadrank::inject::standin::each_thread(dim3(blocks), dim3(block), [=] { kernel(arguments...); });
    };
    using Call = std::function<void()>;
    const auto run = [](void* data) {
        Call* const called = static_cast<Call*>(data);
        (*called)();
        delete called;
    };
    cudaLaunchHostFunc(stream, run, new Call(call));
#endif
}

}  // namespace program
