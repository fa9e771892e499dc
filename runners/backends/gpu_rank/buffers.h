// runners/backends/gpu_rank/buffers.h — Memory on the device, and pinned memory of the host beside it, handed
// out again and again: CUDA may wait for all kernels when it allocates, and one of them may be waiting for
// ever.
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
    // Copies go through a stream of their own, which no kernel holds up. Throws sim::LibraryError for what
    // CUDA refuses.
    explicit Buffers(const Cuda& cuda);

    Buffer take(std::size_t numbers);
    void give_back(const Buffer& buffer);
    void to_device(const Buffer& buffer);
    void to_host(const Buffer& buffer);
    // On the device: by a kernel of ours, where it could be made, else by way of the host.
    void flip(const Buffer& buffer, std::int64_t bit);
    void flip_by(std::unique_ptr<DeviceCode> code) { code_ = std::move(code); }
    // Takes what the device has beyond that, or gives it back (-1). What is taken in one piece may be less.
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
