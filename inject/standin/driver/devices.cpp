// inject/standin/driver/devices.cpp — Devices, contexts, errors, and functions by name.
#include "inject/standin/device/devices.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

#include "inject/standin/device/portrait.h"
#include "inject/standin/driver/driver.h"

using namespace deadrank::standin;

namespace {

// Contexts of the calling thread, the current one last.
thread_local std::vector<CUcontext> contexts;

Devices& devices() { return Devices::of_this_process(); }
bool exists(int device) { return device >= 0 && device < devices().count(); }

CUresult choose(CUcontext context) {
    if (!context) return CUDA_SUCCESS;
    return devices().choose(device_of(context)) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_CONTEXT;
}

}  // namespace

extern "C" {

int deadrank_standin_refuses(const char* name) {
    if (std::getenv("DEADRANK_STANDIN_LOG"))
        std::fprintf(stderr, "deadrank: %s is not there without a GPU\n", name);
    return CUDA_ERROR_NOT_SUPPORTED;
}

CUresult cuInit(unsigned) { return devices().count() > 0 ? CUDA_SUCCESS : CUDA_ERROR_NO_DEVICE; }
CUresult cuDriverGetVersion(int* version) { return *version = portrait::version, CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int* count) { return *count = devices().count(), CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    if (!exists(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    return *device = ordinal, CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
    std::snprintf(name, static_cast<std::size_t>(size), "%s", portrait::name);
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
    return *value = portrait::attribute(attribute, devices().physical(device)), CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) { return *bytes = Memory::capacity, CUDA_SUCCESS; }
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
    const auto bytes = portrait::uuid(devices().physical(device));
    std::memcpy(uuid->bytes, bytes.data(), bytes.size());
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetPCIBusId(char* text, int size, CUdevice device) {
    return result(cudaDeviceGetPCIBusId(text, size, device));
}

CUresult cuDevicePrimaryCtxRetain(CUcontext* context, CUdevice device) {
    if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
    return *context = context_of(device), CUDA_SUCCESS;
}
CUresult cuDevicePrimaryCtxRelease(CUdevice) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxSetFlags(CUdevice, unsigned) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxReset(CUdevice) { return CUDA_SUCCESS; }
CUresult cuDevicePrimaryCtxGetState(CUdevice device, unsigned* flags, int* active) {
    if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
    *flags = 0;
    *active = 1;
    return CUDA_SUCCESS;
}

CUresult cuCtxGetCurrent(CUcontext* context) {
    *context = contexts.empty() ? context_of(devices().current()) : contexts.back();
    return CUDA_SUCCESS;
}
CUresult cuCtxSetCurrent(CUcontext context) {
    contexts.clear();
    if (context) contexts.push_back(context);
    return choose(context);
}
CUresult cuCtxPushCurrent(CUcontext context) {
    contexts.push_back(context);
    return choose(context);
}
CUresult cuCtxPopCurrent(CUcontext* context) {
    if (contexts.empty()) return CUDA_ERROR_INVALID_CONTEXT;
    if (context) *context = contexts.back();
    contexts.pop_back();
    return choose(contexts.empty() ? nullptr : contexts.back());
}
CUresult cuCtxGetDevice(CUdevice* device) { return *device = devices().current(), CUDA_SUCCESS; }
CUresult cuCtxSynchronize() { return result(cudaDeviceSynchronize()); }
CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) {
    return *version = portrait::version, CUDA_SUCCESS;
}
CUresult cuCtxGetStreamPriorityRange(int* least, int* greatest) {
    return result(cudaDeviceGetStreamPriorityRange(least, greatest));
}
CUresult cuDeviceCanAccessPeer(int* can, CUdevice device, CUdevice peer) {
    return result(cudaDeviceCanAccessPeer(can, device, peer));
}

CUresult cuGetErrorString(CUresult code, const char** text) {
    return *text = cudaGetErrorString(static_cast<cudaError_t>(code)), CUDA_SUCCESS;
}
CUresult cuGetErrorName(CUresult code, const char** text) {
    return *text = cudaGetErrorName(static_cast<cudaError_t>(code)), CUDA_SUCCESS;
}

CUresult cuGetProcAddress(const char* name, void** into, int, cuuint64_t,
                          CUdriverProcAddressQueryResult* status) {
    *into = nullptr;
    for (const char* form : {"_v4", "_v3", "_v2", ""}) {
        if (!*into) *into = dlsym(RTLD_DEFAULT, (std::string(name) + form).c_str());
    }
    if (status) *status = *into ? CU_GET_PROC_ADDRESS_SUCCESS : CU_GET_PROC_ADDRESS_SYMBOL_NOT_FOUND;
    return *into ? CUDA_SUCCESS : CUDA_ERROR_NOT_FOUND;
}
}
