// inject/standin/runtime/runtime.h — What the files of the runtime share: the last error of a thread, the
// stream behind a handle, and the functions whose form differs between CUDA 12 and 13.
#pragma once

#include <cuda_runtime_api.h>
#include <string>

#include "inject/standin/device/capture.h"
#include "inject/standin/device/standin_memory.h"

namespace deadrank::inject::standin {

// Answers with the code, and remembers it for cudaGetLastError unless it is success.
cudaError_t answer(cudaError_t code);
cudaError_t take_last_error();
cudaError_t last_error();
// Answers with the code. Its text says why, in this thread, until another is refused.
cudaError_t refuse(cudaError_t code, const std::string& why);

// Null is cudaErrorInvalidValue.
cudaError_t give(int* into, int value);

// Writes the four fields that both releases have, and no others.
cudaError_t describe_pointer(cudaPointerAttributes* attributes, const void* at);

// Where cudaStreamGetCaptureInfo writes. All but the status may be null.
struct CaptureInfo {
    cudaStreamCaptureStatus* status;
    unsigned long long* id = nullptr;
    cudaGraph_t* graph = nullptr;
    const cudaGraphNode_t** nodes = nullptr;
    const cudaGraphEdgeData** edges = nullptr;
    std::size_t* count = nullptr;
};
cudaError_t describe_capture(cudaStream_t stream, const CaptureInfo& into);

inline Devices& devices() { return Devices::of_this_process(); }
inline Captures& captures() { return Captures::of_this_process(); }

// cudaErrorInvalidResourceHandle when there is no such stream.
template <class Work>
cudaError_t push(cudaStream_t handle, Work work) {
    Stream* stream = devices().stream(handle);
    if (!stream) return answer(cudaErrorInvalidResourceHandle);
    devices().push(*stream, std::move(work));
    return cudaSuccess;
}

}  // namespace deadrank::inject::standin
