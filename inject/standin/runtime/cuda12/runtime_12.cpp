// inject/standin/runtime/cuda12/runtime_12.cpp — What CUDA 12 means by names that mean something else in CUDA
// 13, and names that it alone has. Everything here is compiled with the header of CUDA 13, so its own structs
// are written down.
#include <cstddef>

#include "inject/standin/runtime/cuda12/properties_12.h"
#include "inject/standin/runtime/runtime_properties.h"

using namespace deadrank::inject::standin;

extern "C" {

// Names that the header declares with the parameters of CUDA 13.
cudaError_t properties_of_cuda_11(runtime::cuda12::Properties11* properties,
                                  int device) asm("cudaGetDeviceProperties");
cudaError_t first_capture_info(cudaStream_t stream, cudaStreamCaptureStatus* status,
                               unsigned long long* id) asm("cudaStreamGetCaptureInfo");

// CUDA 12.9, the last one: a program of an earlier 12 runs on it.
cudaError_t cudaRuntimeGetVersion(int* version) { return give(version, 12090); }

cudaError_t cudaGetDeviceProperties_v2(runtime::cuda12::Properties* properties, int device) {
    return describe_device(properties, device);
}
// Of programs compiled with CUDA 11: their struct is the first part of 12's.
cudaError_t properties_of_cuda_11(runtime::cuda12::Properties11* properties, int device) {
    if (!properties) return answer(cudaErrorInvalidValue);
    runtime::cuda12::Properties all;
    const cudaError_t code = describe_device(&all, device);
    if (code == cudaSuccess) *properties = all;
    return code;
}

// Without the 64 reserved bytes that CUDA 13 has behind them: nothing may be written there.
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* at) {
    return describe_pointer(attributes, at);
}

// Three forms, each with more to fill than the one before.
cudaError_t first_capture_info(cudaStream_t stream, cudaStreamCaptureStatus* status, unsigned long long* id) {
    return describe_capture(stream, {.status = status, .id = id});
}
cudaError_t cudaStreamGetCaptureInfo_v2(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** nodes, std::size_t* count) {
    return describe_capture(stream,
                            {.status = status, .id = id, .graph = graph, .nodes = nodes, .count = count});
}
cudaError_t cudaStreamGetCaptureInfo_v3(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                        unsigned long long* id, cudaGraph_t* graph,
                                        const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                        std::size_t* count) {
    return describe_capture(stream, {status, id, graph, nodes, edges, count});
}

// The earlier forms, which take the number of a device, are in runtime_memory.cpp: they look at no argument.
cudaError_t cudaMemPrefetchAsync_v2(const void*, std::size_t, cudaMemLocation, unsigned, cudaStream_t) {
    return cudaSuccess;
}
cudaError_t cudaMemAdvise_v2(const void*, std::size_t, cudaMemoryAdvise, cudaMemLocation) {
    return cudaSuccess;
}

cudaError_t cudaEventElapsedTime_v2(float* milliseconds, cudaEvent_t from, cudaEvent_t to) {
    return cudaEventElapsedTime(milliseconds, from, to);
}

// Deprecated names of the device's functions.
cudaError_t cudaThreadSynchronize() { return cudaDeviceSynchronize(); }
cudaError_t cudaThreadExit() { return cudaDeviceReset(); }
cudaError_t cudaThreadSetLimit(cudaLimit limit, std::size_t value) {
    return cudaDeviceSetLimit(limit, value);
}
cudaError_t cudaThreadGetLimit(std::size_t* value, cudaLimit limit) {
    return cudaDeviceGetLimit(value, limit);
}
}
