// inject/standin/runtime/runtime_devices.cpp — The CUDA runtime's devices and errors.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <string_view>
#include <utility>

#include "inject/standin/device/device_properties.h"
#include "inject/standin/device/gpu_model.h"
#include "inject/standin/runtime/runtime.h"

// How many devices there are, what they are like, and which one a thread uses.
using namespace deadrank::inject::standin;

namespace {

bool exists(int device) { return device >= 0 && device < devices().count(); }

// The driver lies beside us. A name may mean its second form (_v2), as in the driver's own header.
void* driver_function(const char* name) {
    static void* const driver = [] {
        void* known = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
        if (known) return known;
        Dl_info self;
        if (!dladdr(reinterpret_cast<void*>(&exists), &self)) return known;
        const std::string path(self.dli_fname);
        return dlopen((path.substr(0, path.rfind('/') + 1) + "libcuda.so.1").c_str(), RTLD_LAZY);
    }();
    if (!driver) return nullptr;
    void* newer = dlsym(driver, (std::string(name) + "_v2").c_str());
    return newer ? newer : dlsym(driver, name);
}

cudaError_t find_driver_function(const char* name, void** into, cudaDriverEntryPointQueryResult* status) {
    if (!name || !into) return answer(cudaErrorInvalidValue);
    *into = driver_function(name);
    if (status) *status = *into ? cudaDriverEntryPointSuccess : cudaDriverEntryPointSymbolNotFound;
    return *into || status ? cudaSuccess : answer(cudaErrorInvalidValue);
}

}  // namespace

extern "C" {

cudaError_t cudaGetDeviceCount(int* count) {
    const cudaError_t given = give(count, devices().count());
    return given == cudaSuccess && *count == 0 ? answer(cudaErrorNoDevice) : given;
}
cudaError_t cudaGetDevice(int* device) { return give(device, devices().current()); }
cudaError_t cudaDriverGetVersion(int* version) { return give(version, device::version); }

cudaError_t cudaSetDevice(int device) {
    return devices().choose(device) ? cudaSuccess : answer(cudaErrorInvalidDevice);
}
cudaError_t cudaInitDevice(int device, unsigned, unsigned) {
    return exists(device) ? cudaSuccess : answer(cudaErrorInvalidDevice);
}
cudaError_t cudaChooseDevice(int* device, const cudaDeviceProp*) { return give(device, 0); }
cudaError_t cudaSetDeviceFlags(unsigned) { return cudaSuccess; }
cudaError_t cudaGetDeviceFlags(unsigned* flags) {
    if (flags) *flags = 0;
    return cudaSuccess;
}
cudaError_t cudaDeviceSynchronize() {
    if (captures().spoil_device(devices().current())) return answer(cudaErrorStreamCaptureUnsupported);
    devices().drain(devices().current());
    return cudaSuccess;
}
cudaError_t cudaDeviceReset() { return cudaDeviceSynchronize(); }
cudaError_t cudaDeviceSetLimit(cudaLimit, std::size_t) { return cudaSuccess; }
cudaError_t cudaDeviceGetLimit(std::size_t* value, cudaLimit) {
    if (value) *value = 1024;
    return cudaSuccess;
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
    if (!exists(device)) return answer(cudaErrorInvalidDevice);
    return give(value, device::attribute(attribute, devices().physical(device)));
}

cudaError_t cudaDeviceGetPCIBusId(char* text, int size, int device) {
    if (!text || size < 13) return answer(cudaErrorInvalidValue);
    if (!exists(device)) return answer(cudaErrorInvalidDevice);
    std::snprintf(text, static_cast<std::size_t>(size), "%s",
                  device::bus_id(devices().physical(device)).c_str());
    return cudaSuccess;
}

cudaError_t cudaDeviceGetByPCIBusId(int* device, const char* text) {
    const int found = text ? devices().visible(device::device_at(text)) : -1;
    return exists(found) ? give(device, found) : answer(cudaErrorInvalidDevice);
}

cudaError_t cudaDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least) *least = 0;
    if (greatest) *greatest = -5;
    return cudaSuccess;
}

// All memory is the host's, so every device reaches that of every other.
cudaError_t cudaDeviceCanAccessPeer(int* can, int device, int peer) {
    if (!exists(device) || !exists(peer)) return answer(cudaErrorInvalidDevice);
    return give(can, device != peer ? 1 : 0);
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    return exists(peer) ? cudaSuccess : answer(cudaErrorInvalidDevice);
}
cudaError_t cudaDeviceDisablePeerAccess(int peer) {
    return exists(peer) ? cudaSuccess : answer(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDriverEntryPointByVersion(const char* name, void** into, unsigned, unsigned long long,
                                             cudaDriverEntryPointQueryResult* status) {
    return find_driver_function(name, into, status);
}
cudaError_t cudaGetDriverEntryPoint(const char* name, void** into, unsigned long long,
                                    cudaDriverEntryPointQueryResult* status) {
    return find_driver_function(name, into, status);
}

cudaError_t cudaProfilerStart() { return cudaSuccess; }
cudaError_t cudaProfilerStop() { return cudaSuccess; }
}

namespace deadrank::inject::standin {

// ── Codes, their names and their sentences; what this runtime does not do is refused with a line that says
// so.

namespace {

thread_local cudaError_t last = cudaSuccess;
thread_local std::pair<cudaError_t, std::string> refused;  // the last refusal, and its text

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
    {cudaErrorNoKernelImageForDevice, "cudaErrorNoKernelImageForDevice",
     "no kernel image is available for execution on the device"},
    {cudaErrorIllegalState, "cudaErrorIllegalState",
     "the operation cannot be performed in the present state"},
    {cudaErrorStreamCaptureUnsupported, "cudaErrorStreamCaptureUnsupported",
     "operation not permitted when stream is capturing"},
    {cudaErrorStreamCaptureInvalidated, "cudaErrorStreamCaptureInvalidated",
     "operation failed due to a previous error during capture"},
    {cudaErrorStreamCaptureUnmatched, "cudaErrorStreamCaptureUnmatched",
     "capture was not ended in the same stream as it began"},
    {cudaErrorStreamCaptureUnjoined, "cudaErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {cudaErrorStreamCaptureIsolation, "cudaErrorStreamCaptureIsolation",
     "dependency created on uncaptured work in another stream"},
    {cudaErrorCapturedEvent, "cudaErrorCapturedEvent",
     "operation not permitted on an event last recorded in a capturing stream"},
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

cudaError_t refuse(cudaError_t code, const std::string& why) {
    const Text* text = find(code);
    refused = {code, std::string(text ? text->says : "refused") + " (deadrank: " + why + ")"};
    return answer(code);
}

cudaError_t give(int* into, int value) {
    if (!into) return answer(cudaErrorInvalidValue);
    *into = value;
    return cudaSuccess;
}

cudaError_t take_last_error() {
    const cudaError_t code = last;
    last = cudaSuccess;
    return code;
}

}  // namespace deadrank::inject::standin

using namespace deadrank::inject::standin;

extern "C" {

// Every name of the runtime that no file here defines leads to this: names.txt.
int deadrank_standin_refuses(const char* name) {
    if (std::getenv("DEADRANK_STANDIN_LOG"))
        std::fprintf(stderr, "deadrank: %s is not there without a GPU\n", name);
    const std::string_view function(name);
    std::string why = std::string(function) + " is not there without a GPU";
    if (function.starts_with("cudaGraph")) why += "; capture the graph from a stream";
    if (function.starts_with("cudaIpc")) why += "; share CPU tensors between processes";
    return refuse(cudaErrorNotSupported, why);
}

cudaError_t cudaGetLastError() { return take_last_error(); }
cudaError_t cudaPeekAtLastError() { return last_error(); }

const char* cudaGetErrorName(cudaError_t code) {
    const Text* text = find(code);
    return text ? text->name : "unrecognized error code";
}

const char* cudaGetErrorString(cudaError_t code) {
    if (code != cudaSuccess && code == refused.first) return refused.second.c_str();
    const Text* text = find(code);
    return text ? text->says : "unrecognized error code";
}
}
