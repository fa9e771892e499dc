// inject/standin/driver/driver.h — The CUDA driver's exported functions.
#pragma once

#include <cuda.h>
#include <cuda_runtime_api.h>

namespace deadrank::inject::standin {

inline CUresult result(cudaError_t code) { return static_cast<CUresult>(code); }  // numbered alike

inline CUcontext context_of(int device) {
    return reinterpret_cast<CUcontext>(static_cast<std::size_t>(device) + 1);
}
inline int device_of(CUcontext context) {
    return static_cast<int>(reinterpret_cast<std::size_t>(context)) - 1;
}
inline void* pointer(CUdeviceptr at) { return reinterpret_cast<void*>(at); }

}  // namespace deadrank::inject::standin
