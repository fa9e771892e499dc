// inject/standin/runtime/errors.cpp — Codes, their names and their sentences; what this runtime does not do
// is refused with a line that says so.
#include <cstdio>
#include <cstdlib>

#include "inject/standin/runtime/runtime.h"

namespace deadrank::standin {

namespace {

thread_local cudaError_t last = cudaSuccess;

struct Text {
    cudaError_t code;
    const char* name;
    const char* says;
};

constexpr Text texts[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorInvalidDeviceFunction, "cudaErrorInvalidDeviceFunction", "invalid device function"},
    {cudaErrorInvalidSymbol, "cudaErrorInvalidSymbol", "invalid device symbol"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorNotSupported, "cudaErrorNotSupported", "operation not supported"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorHostMemoryAlreadyRegistered, "cudaErrorHostMemoryAlreadyRegistered",
     "part or all of the requested memory range is already mapped"},
    {cudaErrorHostMemoryNotRegistered, "cudaErrorHostMemoryNotRegistered",
     "pointer does not correspond to a registered memory region"},
    {cudaErrorIllegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
};

const Text* find(cudaError_t code) {
    for (const Text& text : texts) {
        if (text.code == code) return &text;
    }
    return nullptr;
}

}  // namespace

cudaError_t answer(cudaError_t code) {
    if (code != cudaSuccess) last = code;
    return code;
}

cudaError_t last_error() { return last; }

cudaError_t take_last_error() {
    const cudaError_t code = last;
    last = cudaSuccess;
    return code;
}

}  // namespace deadrank::standin

using namespace deadrank::standin;

extern "C" {

// Every name of the runtime that no file here defines leads to this: runtime/names.txt.
int deadrank_standin_refuses(const char* name) {
    if (std::getenv("DEADRANK_STANDIN_LOG"))
        std::fprintf(stderr, "deadrank: %s is not there without a GPU\n", name);
    return answer(cudaErrorNotSupported);
}

cudaError_t cudaGetLastError() { return take_last_error(); }
cudaError_t cudaPeekAtLastError() { return last_error(); }

const char* cudaGetErrorName(cudaError_t code) {
    const Text* text = find(code);
    return text ? text->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t code) {
    const Text* text = find(code);
    return text ? text->says : "unrecognized error code";
}
}
