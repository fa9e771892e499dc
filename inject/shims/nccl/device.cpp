// inject/shims/nccl/device.cpp — Runtime and driver have the same shapes but for the direction of a copy,
// which the driver finds out by itself (unified addressing).
#include "inject/shims/nccl/device.h"

#include <dlfcn.h>

namespace deadrank::inject::shims {

namespace {

constexpr int copy_default = 4;    // cudaMemcpyDefault: the direction follows from the addresses
constexpr int capture_active = 1;  // of cudaStreamCaptureStatus

template <class Shape>
Shape* as(void* function) {
    return reinterpret_cast<Shape*>(function);
}

}  // namespace

Device::Device() {
    for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}) {
        if (!library_) library_ = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    }
    is_runtime_ = library_ != nullptr;
    if (!library_) library_ = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library_) return;
    allocate_ = find("cudaMalloc", "cuMemAlloc_v2");
    copy_ = find("cudaMemcpyAsync", "cuMemcpyAsync");
    wait_ = find("cudaStreamSynchronize", "cuStreamSynchronize");
    call_ = find("cudaLaunchHostFunc", "cuLaunchHostFunc");
    capturing_ = find("cudaStreamIsCapturing", "cuStreamIsCapturing");
}

void* Device::find(const char* runtime, const char* driver) {
    return ::dlsym(library_, is_runtime_ ? runtime : driver);
}

void* Device::allocate(std::size_t bytes) const {
    void* made = nullptr;
    return as<int(void**, std::size_t)>(allocate_)(&made, bytes) == 0 ? made : nullptr;
}

bool Device::copy(void* to, const void* from, std::size_t bytes, Stream stream) const {
    if (is_runtime_) {
        return as<int(void*, const void*, std::size_t, int, Stream)>(copy_)(to, from, bytes, copy_default,
                                                                            stream) == 0;
    }
    return as<int(void*, const void*, std::size_t, Stream)>(copy_)(to, from, bytes, stream) == 0;
}

bool Device::wait(Stream stream) const { return as<int(Stream)>(wait_)(stream) == 0; }

bool Device::when_done(Stream stream, void (*call)(void*), void* argument) const {
    if (!call_) return false;
    int status = 0;
    // A call inside a captured graph would run at each replay.
    if (capturing_ && (as<int(Stream, int*)>(capturing_)(stream, &status) != 0 || status >= capture_active)) {
        return false;
    }
    return as<int(Stream, void (*)(void*), void*)>(call_)(stream, call, argument) == 0;
}

}  // namespace deadrank::inject::shims
