// inject/standin/runtime/runtime.h — What the files of the runtime share: the last error of a thread, and the
// stream behind a handle.
#pragma once

#include <cuda_runtime_api.h>
#include <string>

#include "inject/standin/device/standin_memory.h"

namespace deadrank::inject::standin {

// Answers with the code, and remembers it for cudaGetLastError unless it is success.
cudaError_t answer(cudaError_t code);
cudaError_t take_last_error();
cudaError_t last_error();
// Answers with the code. Its text says why, in this thread, until another is refused.
cudaError_t refuse(cudaError_t code, const std::string& why);

inline Devices& devices() { return Devices::of_this_process(); }

// cudaErrorInvalidResourceHandle when there is no such stream.
template <class Work>
cudaError_t push(cudaStream_t handle, Work work) {
    Stream* stream = devices().stream(handle);
    if (!stream) return answer(cudaErrorInvalidResourceHandle);
    devices().push(*stream, std::move(work));
    return cudaSuccess;
}

}  // namespace deadrank::inject::standin
