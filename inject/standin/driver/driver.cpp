// inject/standin/driver/driver.cpp — The CUDA driver's exported functions.
#include "inject/standin/driver/driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <string>
#include <vector>

#include "inject/standin/device/device_properties.h"
#include "inject/standin/device/gpu_model.h"
#include "inject/standin/device/standin_memory.h"
#include "inject/standin/device/virtual_memory.h"

// Devices, contexts, errors, and functions by name.
using namespace deadrank::inject::standin;

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
CUresult cuDriverGetVersion(int* version) { return *version = device::version, CUDA_SUCCESS; }
CUresult cuDeviceGetCount(int* count) { return *count = devices().count(), CUDA_SUCCESS; }
CUresult cuDeviceGet(CUdevice* device, int ordinal) {
    if (!exists(ordinal)) return CUDA_ERROR_INVALID_DEVICE;
    return *device = ordinal, CUDA_SUCCESS;
}
CUresult cuDeviceGetName(char* name, int size, CUdevice) {
    std::snprintf(name, static_cast<std::size_t>(size), "%s", device::model().name);
    return CUDA_SUCCESS;
}
CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute attribute, CUdevice device) {
    if (!exists(device)) return CUDA_ERROR_INVALID_DEVICE;
    return *value = device::attribute(attribute, devices().physical(device)), CUDA_SUCCESS;
}
CUresult cuDeviceTotalMem(std::size_t* bytes, CUdevice) { return *bytes = Memory::capacity(), CUDA_SUCCESS; }
CUresult cuDeviceGetUuid(CUuuid* uuid, CUdevice device) {
    const auto bytes = device::uuid(devices().physical(device));
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
CUresult cuCtxGetApiVersion(CUcontext, unsigned* version) { return *version = device::version, CUDA_SUCCESS; }
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

// Memory, copies, streams and events of the driver: the runtime's own, by their other names.
using namespace deadrank::inject::standin;

namespace {

VirtualMemory& virtual_memory() { return Devices::of_this_process().virtual_memory(); }

cudaError_t copy(CUdeviceptr to, CUdeviceptr from, std::size_t size, CUstream stream) {
    return cudaMemcpyAsync(pointer(to), pointer(from), size, cudaMemcpyDefault, stream);
}

template <class Element>
CUresult fill(CUdeviceptr at, Element value, std::size_t count, CUstream handle) {
    Devices& devices = Devices::of_this_process();
    Stream* stream = devices.stream(handle);
    if (!stream) return CUDA_ERROR_INVALID_HANDLE;
    devices.push(*stream, [=] { std::fill_n(reinterpret_cast<Element*>(at), count, value); });
    return CUDA_SUCCESS;
}

template <class Word>
CUresult write_value(CUstream handle, CUdeviceptr at, Word value) {
    return fill<Word>(at, value, 1, handle);
}

}  // namespace

extern "C" {

CUresult cuMemAlloc(CUdeviceptr* into, std::size_t size) {
    return result(cudaMalloc(reinterpret_cast<void**>(into), size));
}
CUresult cuMemFree(CUdeviceptr at) { return result(cudaFree(pointer(at))); }
CUresult cuMemHostAlloc(void** into, std::size_t size, unsigned flags) {
    return result(cudaHostAlloc(into, size, flags));
}
CUresult cuMemFreeHost(void* at) { return result(cudaFreeHost(at)); }
CUresult cuMemHostRegister(void* at, std::size_t size, unsigned flags) {
    return result(cudaHostRegister(at, size, flags));
}
CUresult cuMemHostUnregister(void* at) { return result(cudaHostUnregister(at)); }
CUresult cuMemGetInfo(std::size_t* left, std::size_t* total) { return result(cudaMemGetInfo(left, total)); }

CUresult cuMemGetAddressRange(CUdeviceptr* begin, std::size_t* size, CUdeviceptr at) {
    const auto block = Devices::of_this_process().memory.find(pointer(at));
    if (!block) return CUDA_ERROR_NOT_FOUND;
    if (begin) *begin = reinterpret_cast<CUdeviceptr>(block->begin);
    if (size) *size = block->size;
    return CUDA_SUCCESS;
}

// Address ranges that get memory later. Every device reaches all memory, so access is always given.
CUresult cuMemGetAllocationGranularity(std::size_t* size, const CUmemAllocationProp*,
                                       CUmemAllocationGranularity_flags) {
    return *size = VirtualMemory::granularity, CUDA_SUCCESS;
}
CUresult cuMemAddressReserve(CUdeviceptr* into, std::size_t size, std::size_t, CUdeviceptr,
                             unsigned long long) {
    void* at = virtual_memory().reserve(size);
    if (!at) return CUDA_ERROR_OUT_OF_MEMORY;
    return *into = reinterpret_cast<CUdeviceptr>(at), CUDA_SUCCESS;
}
CUresult cuMemAddressFree(CUdeviceptr at, std::size_t size) {
    return virtual_memory().release_range(pointer(at), size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemCreate(CUmemGenericAllocationHandle* into, std::size_t size,
                     const CUmemAllocationProp* property, unsigned long long) {
    if (property->location.type != CU_MEM_LOCATION_TYPE_DEVICE) return CUDA_ERROR_NOT_SUPPORTED;
    *into = virtual_memory().create(size, property->location.id);
    return *into != 0 ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY;
}
CUresult cuMemRelease(CUmemGenericAllocationHandle handle) {
    return virtual_memory().release(handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemMap(CUdeviceptr at, std::size_t size, std::size_t, CUmemGenericAllocationHandle handle,
                  unsigned long long) {
    return virtual_memory().map(pointer(at), size, handle) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemUnmap(CUdeviceptr at, std::size_t size) {
    return virtual_memory().unmap(pointer(at), size) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}
CUresult cuMemSetAccess(CUdeviceptr, std::size_t, const CUmemAccessDesc*, std::size_t) {
    return CUDA_SUCCESS;
}

CUresult cuPointerGetAttribute(void* data, CUpointer_attribute attribute, CUdeviceptr at) {
    const auto block = Devices::of_this_process().memory.find(pointer(at));
    if (!block) return CUDA_ERROR_INVALID_VALUE;
    const bool on_device = block->where == Where::device || block->where == Where::mapped;
    switch (attribute) {
        case CU_POINTER_ATTRIBUTE_CONTEXT:
            *static_cast<CUcontext*>(data) = context_of(block->device);
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
            *static_cast<unsigned*>(data) = on_device ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_POINTER:
        case CU_POINTER_ATTRIBUTE_HOST_POINTER:
            *static_cast<void**>(data) = pointer(at);
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
            *static_cast<int*>(data) = block->device;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_IS_MANAGED:
            *static_cast<unsigned*>(data) = block->where == Where::managed;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
            *static_cast<void**>(data) = block->begin;
            return CUDA_SUCCESS;
        case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
            *static_cast<std::size_t*>(data) = block->size;
            return CUDA_SUCCESS;
        default:
            return CUDA_ERROR_NOT_SUPPORTED;
    }
}

CUresult cuMemcpy(CUdeviceptr to, CUdeviceptr from, std::size_t size) {
    return result(cudaMemcpy(pointer(to), pointer(from), size, cudaMemcpyDefault));
}
CUresult cuMemcpyHtoD(CUdeviceptr to, const void* from, std::size_t size) {
    return result(cudaMemcpy(pointer(to), from, size, cudaMemcpyDefault));
}
CUresult cuMemcpyDtoH(void* to, CUdeviceptr from, std::size_t size) {
    return result(cudaMemcpy(to, pointer(from), size, cudaMemcpyDefault));
}
CUresult cuMemcpyDtoD(CUdeviceptr to, CUdeviceptr from, std::size_t size) { return cuMemcpy(to, from, size); }
CUresult cuMemcpyAsync(CUdeviceptr to, CUdeviceptr from, std::size_t size, CUstream stream) {
    return result(copy(to, from, size, stream));
}
CUresult cuMemcpyHtoDAsync(CUdeviceptr to, const void* from, std::size_t size, CUstream stream) {
    return result(copy(to, reinterpret_cast<CUdeviceptr>(from), size, stream));
}
CUresult cuMemcpyDtoHAsync(void* to, CUdeviceptr from, std::size_t size, CUstream stream) {
    return result(copy(reinterpret_cast<CUdeviceptr>(to), from, size, stream));
}
CUresult cuMemcpyDtoDAsync(CUdeviceptr to, CUdeviceptr from, std::size_t size, CUstream stream) {
    return result(copy(to, from, size, stream));
}
CUresult cuMemsetD8(CUdeviceptr at, unsigned char value, std::size_t count) {
    return result(cudaMemset(pointer(at), value, count));
}
CUresult cuMemsetD8Async(CUdeviceptr at, unsigned char value, std::size_t count, CUstream stream) {
    return fill(at, value, count, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr at, unsigned value, std::size_t count, CUstream stream) {
    return fill(at, value, count, stream);
}

CUresult cuStreamCreate(CUstream* into, unsigned flags) {
    return result(cudaStreamCreateWithFlags(into, flags));
}
CUresult cuStreamCreateWithPriority(CUstream* into, unsigned flags, int priority) {
    return result(cudaStreamCreateWithPriority(into, flags, priority));
}
CUresult cuStreamDestroy(CUstream stream) { return result(cudaStreamDestroy(stream)); }
CUresult cuStreamQuery(CUstream stream) { return result(cudaStreamQuery(stream)); }
CUresult cuStreamSynchronize(CUstream stream) { return result(cudaStreamSynchronize(stream)); }
CUresult cuStreamWaitEvent(CUstream stream, CUevent event, unsigned flags) {
    return result(cudaStreamWaitEvent(stream, event, flags));
}
CUresult cuStreamGetPriority(CUstream stream, int* priority) {
    return result(cudaStreamGetPriority(stream, priority));
}
CUresult cuStreamWriteValue32(CUstream stream, CUdeviceptr at, cuuint32_t value, unsigned) {
    return write_value(stream, at, value);
}
CUresult cuStreamWriteValue64(CUstream stream, CUdeviceptr at, cuuint64_t value, unsigned) {
    return write_value(stream, at, value);
}
CUresult cuStreamIsCapturing(CUstream, CUstreamCaptureStatus* status) {
    return *status = CU_STREAM_CAPTURE_STATUS_NONE, CUDA_SUCCESS;
}
CUresult cuLaunchHostFunc(CUstream stream, CUhostFn function, void* data) {
    return result(cudaLaunchHostFunc(stream, function, data));
}

CUresult cuEventCreate(CUevent* into, unsigned flags) {
    return result(cudaEventCreateWithFlags(into, flags));
}
CUresult cuEventDestroy(CUevent event) { return result(cudaEventDestroy(event)); }
CUresult cuEventRecord(CUevent event, CUstream stream) { return result(cudaEventRecord(event, stream)); }
CUresult cuEventQuery(CUevent event) { return result(cudaEventQuery(event)); }
CUresult cuEventSynchronize(CUevent event) { return result(cudaEventSynchronize(event)); }
CUresult cuEventElapsedTime(float* milliseconds, CUevent from, CUevent to) {
    return result(cudaEventElapsedTime(milliseconds, from, to));
}
}
