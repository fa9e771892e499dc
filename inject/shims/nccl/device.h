// inject/shims/nccl/device.h — Streams and device memory through whichever of CUDA's two libraries the
// program has loaded: the runtime, or the driver below a runtime that is linked statically.
#pragma once

#include <cstddef>

#include "inject/shims/nccl/abi.h"

namespace deadrank::inject::shims {

class Device {
public:
    Device();

    bool memory() const { return allocate_ && copy_ && wait_; }

    void* allocate(std::size_t bytes) const;  // null when there is none left
    bool copy(void* to, const void* from, std::size_t bytes, Stream stream) const;  // in the stream's order
    bool wait(Stream stream) const;

    // `call` runs when the stream has come so far. False when nobody can promise that: then it was not kept.
    bool when_done(Stream stream, void (*call)(void*), void* argument) const;

private:
    void* find(const char* runtime, const char* driver);

    bool is_runtime_ = false;
    void* library_ = nullptr;
    void *allocate_ = nullptr, *copy_ = nullptr, *wait_ = nullptr, *call_ = nullptr, *capturing_ = nullptr;
};

}  // namespace deadrank::inject::shims
