// inject/standin/runtime/cuda13/runtime_13.cpp — What CUDA 13 means by names that mean something else in
// CUDA 12.
#include <algorithm>

#include "inject/standin/runtime/runtime_properties.h"

using namespace deadrank::inject::standin;

extern "C" {

cudaError_t cudaRuntimeGetVersion(int* version) { return give(version, 13000); }

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
    return describe_device(properties, device);
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* at) {
    if (attributes) std::fill(std::begin(attributes->reserved), std::end(attributes->reserved), 0);
    return describe_pointer(attributes, at);
}

cudaError_t cudaStreamGetCaptureInfo(cudaStream_t stream, cudaStreamCaptureStatus* status,
                                     unsigned long long* id, cudaGraph_t* graph,
                                     const cudaGraphNode_t** nodes, const cudaGraphEdgeData** edges,
                                     std::size_t* count) {
    return describe_capture(stream, {status, id, graph, nodes, edges, count});
}
}
