// runners/backends/gpu_rank/buffers.h — Device memory, each piece with pinned host memory, reused and never
// freed: an allocation may make CUDA wait for all kernels, and one of them may never end.
#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <utility>
#include <vector>

#include "runners/backends/gpu_rank/device_code.h"
#include "sim/world/comm.h"

namespace deadrank::runners {

struct Buffer {
    void* device = nullptr;
    sim::Number* host = nullptr;
    std::size_t numbers = 0;
};

class Buffers {
public:
    // Copies use their own stream, which no kernel blocks. Throws sim::LibraryError when CUDA fails.
    explicit Buffers(const Cuda& cuda);

    Buffer take(std::size_t numbers);
    void give_back(const Buffer& buffer);
    void to_device(const Buffer& buffer);
    void to_host(const Buffer& buffer);
    // Flips a bit on the device: by our kernel if it could be compiled, else by copying the word to the host
    // and back.
    void flip(const Buffer& buffer, std::int64_t bit);
    void flip_by(std::unique_ptr<DeviceCode> code) { code_ = std::move(code); }
    // Allocates the device's free memory except for `bytes`, or frees it again (-1). Takes less where that
    // much is not free in one piece.
    void leave_free(std::int64_t bytes);

private:
    void copy(void* to, const void* from, std::size_t bytes, CopyKind kind);
    void check(int code, const char* what) const;

    const Cuda& cuda_;
    CudaStream stream_ = nullptr;
    std::unique_ptr<DeviceCode> code_;
    std::mutex mutex_;
    void* taken_ = nullptr;
    std::multimap<std::size_t, Buffer> free_;  // by size
};

}  // namespace deadrank::runners
