// inject/standin/runtime/memory.cpp — Allocation and what is known of a pointer. Pools and asynchronous forms
// are the plain ones: memory here is never taken away while work may still use it.
#include "inject/standin/runtime/runtime.h"

using namespace deadrank::standin;

namespace {

cudaError_t take(void** into, std::size_t size, Where where) {
    if (!into) return answer(cudaErrorInvalidValue);
    *into = size == 0 ? nullptr : devices().memory.take(size, where, devices().current());
    return *into || size == 0 ? cudaSuccess : answer(cudaErrorMemoryAllocation);
}

cudaError_t give_back(void* at) {
    return !at || devices().memory.give_back(at) ? cudaSuccess : answer(cudaErrorInvalidValue);
}

// cudaFree waits for all work of the device.
cudaError_t give_back_when_idle(void* at) {
    const auto block = devices().memory.find(at);
    if (block && block->where == Where::device) devices().drain(block->device);
    return give_back(at);
}

// The one pool of each device.
cudaMemPool_t pool() { return reinterpret_cast<cudaMemPool_t>(1); }

}  // namespace

extern "C" {

cudaError_t cudaMalloc(void** into, std::size_t size) { return take(into, size, Where::device); }
cudaError_t cudaMallocAsync(void** into, std::size_t size, cudaStream_t) {
    return take(into, size, Where::device);
}
cudaError_t cudaMallocFromPoolAsync(void** into, std::size_t size, cudaMemPool_t, cudaStream_t) {
    return take(into, size, Where::device);
}
cudaError_t cudaMallocManaged(void** into, std::size_t size, unsigned) {
    return take(into, size, Where::managed);
}
cudaError_t cudaMallocHost(void** into, std::size_t size) { return take(into, size, Where::host); }
cudaError_t cudaHostAlloc(void** into, std::size_t size, unsigned) { return take(into, size, Where::host); }
cudaError_t cudaMallocPitch(void** into, std::size_t* pitch, std::size_t width, std::size_t height) {
    if (!pitch) return answer(cudaErrorInvalidValue);
    *pitch = (width + 511) / 512 * 512;
    return take(into, *pitch * height, Where::device);
}

cudaError_t cudaFree(void* at) { return give_back_when_idle(at); }
cudaError_t cudaFreeHost(void* at) { return give_back(at); }
cudaError_t cudaFreeAsync(void* at, cudaStream_t stream) {
    if (!at) return cudaSuccess;
    if (!devices().memory.find(at)) return answer(cudaErrorInvalidValue);
    return push(stream, [at] { devices().memory.give_back(at); });
}

cudaError_t cudaHostRegister(void* at, std::size_t size, unsigned) {
    return devices().memory.enrol(at, size) ? cudaSuccess : answer(cudaErrorHostMemoryAlreadyRegistered);
}
cudaError_t cudaHostUnregister(void* at) {
    return devices().memory.strike(at) ? cudaSuccess : answer(cudaErrorHostMemoryNotRegistered);
}
cudaError_t cudaHostGetDevicePointer(void** into, void* at, unsigned) {
    if (!into) return answer(cudaErrorInvalidValue);
    *into = at;
    return cudaSuccess;
}
cudaError_t cudaHostGetFlags(unsigned* flags, void* at) {
    if (!flags || !devices().memory.find(at)) return answer(cudaErrorInvalidValue);
    *flags = 0;
    return cudaSuccess;
}

cudaError_t cudaMemGetInfo(std::size_t* left, std::size_t* total) {
    if (left) *left = devices().memory.left(devices().current());
    if (total) *total = Memory::capacity;
    return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* at) {
    if (!attributes) return answer(cudaErrorInvalidValue);
    *attributes = {};
    attributes->hostPointer = const_cast<void*>(at);
    const auto block = devices().memory.find(at);
    if (!block) {
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->device = -2;  // cudaInvalidDeviceId
        return cudaSuccess;
    }
    attributes->device = block->device;
    attributes->devicePointer = const_cast<void*>(at);
    attributes->type = block->where == Where::device    ? cudaMemoryTypeDevice
                       : block->where == Where::managed ? cudaMemoryTypeManaged
                                                        : cudaMemoryTypeHost;
    if (block->where == Where::device) attributes->hostPointer = nullptr;
    return cudaSuccess;
}

cudaError_t cudaMemPrefetchAsync(const void*, std::size_t, cudaMemLocation, unsigned, cudaStream_t) {
    return cudaSuccess;
}
cudaError_t cudaMemAdvise(const void*, std::size_t, cudaMemoryAdvise, cudaMemLocation) { return cudaSuccess; }

cudaError_t cudaDeviceGetDefaultMemPool(cudaMemPool_t* into, int) {
    *into = pool();
    return cudaSuccess;
}
cudaError_t cudaDeviceGetMemPool(cudaMemPool_t* into, int) {
    *into = pool();
    return cudaSuccess;
}
cudaError_t cudaDeviceSetMemPool(int, cudaMemPool_t) { return cudaSuccess; }
cudaError_t cudaMemPoolTrimTo(cudaMemPool_t, std::size_t) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAttribute(cudaMemPool_t, cudaMemPoolAttr, void*) { return cudaSuccess; }
cudaError_t cudaMemPoolSetAccess(cudaMemPool_t, const cudaMemAccessDesc*, std::size_t) { return cudaSuccess; }
cudaError_t cudaMemPoolGetAttribute(cudaMemPool_t, cudaMemPoolAttr attribute, void* value) {
    if (!value) return answer(cudaErrorInvalidValue);
    const bool wide = attribute >= cudaMemPoolAttrReleaseThreshold;  // the earlier ones are switches, of int
    if (wide)
        *static_cast<unsigned long long*>(value) = 0;
    else
        *static_cast<int*>(value) = 0;
    return cudaSuccess;
}
}
