// inject/standin/runtime/runtime_memory.cpp — The CUDA runtime's memory: allocation and copies.

#include <algorithm>
#include <cstring>
#include <string>

#include "inject/standin/runtime/runtime.h"

// Allocation and what is known of a pointer. Pools and asynchronous forms are the plain ones: memory here is
// never taken away while work may still use it.
using namespace deadrank::inject::standin;

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

namespace deadrank::inject::standin {

cudaError_t describe_pointer(cudaPointerAttributes* attributes, const void* at) {
    if (!attributes) return answer(cudaErrorInvalidValue);
    attributes->devicePointer = nullptr;
    attributes->hostPointer = const_cast<void*>(at);
    const auto block = devices().memory.find(at);
    if (!block) {
        attributes->type = cudaMemoryTypeUnregistered;
        attributes->device = -2;  // cudaInvalidDeviceId
        return cudaSuccess;
    }
    attributes->device = block->device;
    attributes->devicePointer = const_cast<void*>(at);
    const bool on_device = block->where == Where::device || block->where == Where::mapped;
    attributes->type = on_device                        ? cudaMemoryTypeDevice
                       : block->where == Where::managed ? cudaMemoryTypeManaged
                                                        : cudaMemoryTypeHost;
    if (on_device) attributes->hostPointer = nullptr;
    return cudaSuccess;
}

}  // namespace deadrank::inject::standin

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
    return devices().memory.add_block(at, size) ? cudaSuccess : answer(cudaErrorHostMemoryAlreadyRegistered);
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
    if (total) *total = Memory::capacity();
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

// Copies and fills, in the order of their stream. Pageable memory is read before the call returns and written
// before it returns, as it is on a GPU; the forms without a stream wait.
using namespace deadrank::inject::standin;

namespace {

bool pageable(const void* at) { return !devices().memory.find(at); }

cudaError_t wait_for(cudaStream_t handle) {
    const Stream* stream = devices().stream(handle);
    if (!stream) return answer(cudaErrorInvalidResourceHandle);
    stream->drain();
    return cudaSuccess;
}

struct Rows {
    void* to;
    std::size_t to_pitch;
    const void* from;
    std::size_t from_pitch;
    std::size_t width, height;
};

void copy_rows(const Rows& rows) {
    for (std::size_t row = 0; row < rows.height; ++row) {
        std::memmove(static_cast<char*>(rows.to) + row * rows.to_pitch,
                     static_cast<const char*>(rows.from) + row * rows.from_pitch, rows.width);
    }
}

cudaError_t copy(const Rows& rows, cudaStream_t stream, bool waits) {
    if (rows.width == 0 || rows.height == 0) return cudaSuccess;
    if (!rows.to || !rows.from || rows.to_pitch < rows.width || rows.from_pitch < rows.width) {
        return answer(cudaErrorInvalidValue);
    }
    cudaError_t pushed = cudaSuccess;
    if (!waits && pageable(rows.from) && !pageable(rows.to)) {
        std::string staged(rows.width * rows.height, '\0');
        copy_rows({staged.data(), rows.width, rows.from, rows.from_pitch, rows.width, rows.height});
        pushed = push(stream, [rows, staged = std::move(staged)] {
            copy_rows({rows.to, rows.to_pitch, staged.data(), rows.width, rows.width, rows.height});
        });
    } else {
        pushed = push(stream, [rows] { copy_rows(rows); });
        waits = waits || pageable(rows.to);
    }
    return pushed == cudaSuccess && waits ? wait_for(stream) : pushed;
}

cudaError_t copy_bytes(void* to, const void* from, std::size_t size, cudaStream_t stream, bool waits) {
    return copy({to, size, from, size, size, 1}, stream, waits);
}

cudaError_t fill(void* at, std::size_t pitch, int value, std::size_t width, std::size_t height,
                 cudaStream_t stream) {
    if (width == 0 || height == 0) return cudaSuccess;
    if (!at) return answer(cudaErrorInvalidValue);
    return push(stream, [=] {
        for (std::size_t row = 0; row < height; ++row)
            std::memset(static_cast<char*>(at) + row * pitch, value, width);
    });
}

}  // namespace

extern "C" {

cudaError_t cudaMemcpy(void* to, const void* from, std::size_t size, cudaMemcpyKind) {
    return copy_bytes(to, from, size, nullptr, true);
}
cudaError_t cudaMemcpyAsync(void* to, const void* from, std::size_t size, cudaMemcpyKind,
                            cudaStream_t stream) {
    return copy_bytes(to, from, size, stream, false);
}
cudaError_t cudaMemcpyPeer(void* to, int, const void* from, int, std::size_t size) {
    return copy_bytes(to, from, size, nullptr, true);
}
cudaError_t cudaMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t size, cudaStream_t stream) {
    return copy_bytes(to, from, size, stream, false);
}
cudaError_t cudaMemcpy2D(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                         std::size_t width, std::size_t height, cudaMemcpyKind) {
    return copy({to, to_pitch, from, from_pitch, width, height}, nullptr, true);
}
cudaError_t cudaMemcpy2DAsync(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch,
                              std::size_t width, std::size_t height, cudaMemcpyKind, cudaStream_t stream) {
    return copy({to, to_pitch, from, from_pitch, width, height}, stream, false);
}
// A symbol's host shadow is its device memory here.
cudaError_t cudaMemcpyToSymbol(const void* symbol, const void* from, std::size_t size, std::size_t offset,
                               cudaMemcpyKind) {
    char* to = static_cast<char*>(const_cast<void*>(symbol)) + offset;
    return copy_bytes(to, from, size, nullptr, true);
}
cudaError_t cudaMemcpyFromSymbol(void* to, const void* symbol, std::size_t size, std::size_t offset,
                                 cudaMemcpyKind) {
    return copy_bytes(to, static_cast<const char*>(symbol) + offset, size, nullptr, true);
}
cudaError_t cudaGetSymbolAddress(void** into, const void* symbol) {
    if (!into || !symbol) return answer(cudaErrorInvalidSymbol);
    *into = const_cast<void*>(symbol);
    return cudaSuccess;
}

cudaError_t cudaMemset(void* at, int value, std::size_t size) {
    const cudaError_t pushed = fill(at, size, value, size, 1, nullptr);
    return pushed == cudaSuccess ? wait_for(nullptr) : pushed;
}
cudaError_t cudaMemsetAsync(void* at, int value, std::size_t size, cudaStream_t stream) {
    return fill(at, size, value, size, 1, stream);
}
cudaError_t cudaMemset2D(void* at, std::size_t pitch, int value, std::size_t width, std::size_t height) {
    const cudaError_t pushed = fill(at, pitch, value, width, height, nullptr);
    return pushed == cudaSuccess ? wait_for(nullptr) : pushed;
}
cudaError_t cudaMemset2DAsync(void* at, std::size_t pitch, int value, std::size_t width, std::size_t height,
                              cudaStream_t stream) {
    return fill(at, pitch, value, width, height, stream);
}
}
