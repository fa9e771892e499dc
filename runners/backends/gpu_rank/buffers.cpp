// runners/backends/gpu_rank/buffers.cpp — Sizes are powers of two. Some buffers are allocated before any
// kernel runs.
#include "runners/backends/gpu_rank/buffers.h"

#include <bit>
#include <fmt/format.h>

#include "sim/world/failure.h"

namespace deadrank::runners {

namespace {

constexpr std::size_t smallest = 64;
constexpr int at_first = 8;
constexpr std::size_t smallest_pressure = 1 << 20;

}  // namespace

Buffers::Buffers(const Cuda& cuda) : cuda_(cuda) {
    check(cuda_.stream(&stream_, non_blocking), "create a stream");
    std::vector<Buffer> first;
    for (int i = 0; i < at_first; ++i) {
        for (const std::size_t numbers : {smallest, smallest * 16, smallest * 256})
            first.push_back(take(numbers));
    }
    for (const Buffer& buffer : first) give_back(buffer);
}

void Buffers::check(int code, const char* what) const {
    if (code == cuda_ok) return;
    throw sim::LibraryError(sim::Code::unhandled_device_error,
                            fmt::format("RuntimeError: CUDA error: {} (to {})", cuda_.words(code), what));
}

Buffer Buffers::take(std::size_t numbers) {
    const std::size_t size = std::bit_ceil(std::max(numbers, smallest));
    const std::lock_guard lock(mutex_);
    if (const auto found = free_.find(size); found != free_.end()) {
        const Buffer buffer = found->second;
        free_.erase(found);
        return buffer;
    }
    Buffer made{.numbers = size};
    void* host = nullptr;
    check(cuda_.malloc(&made.device, size * sizeof(sim::Number)), "allocate memory on the device");
    check(cuda_.malloc_host(&host, size * sizeof(sim::Number)), "pin memory of the host");
    made.host = static_cast<sim::Number*>(host);
    return made;
}

void Buffers::leave_free(std::int64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (taken_) cuda_.free(std::exchange(taken_, nullptr));
    std::size_t left = 0, in_all = 0;
    if (bytes < 0 || cuda_.memory(&left, &in_all) != cuda_ok) return;
    std::size_t size = left > static_cast<std::size_t>(bytes) ? left - static_cast<std::size_t>(bytes) : 0;
    while (size >= smallest_pressure && cuda_.malloc(&taken_, size) != cuda_ok) {
        taken_ = nullptr;
        size /= 2;
    }
}

void Buffers::give_back(const Buffer& buffer) {
    const std::lock_guard lock(mutex_);
    free_.emplace(buffer.numbers, buffer);
}

void Buffers::copy(void* to, const void* from, std::size_t bytes, CopyKind kind) {
    check(cuda_.copy(to, from, bytes, kind, stream_), "copy");
    check(cuda_.synchronize(stream_), "copy");
}

void Buffers::to_device(const Buffer& buffer) {
    copy(buffer.device, buffer.host, buffer.numbers * sizeof(sim::Number), CopyKind::to_device);
}

void Buffers::to_host(const Buffer& buffer) {
    copy(buffer.host, buffer.device, buffer.numbers * sizeof(sim::Number), CopyKind::to_host);
}

void Buffers::flip(const Buffer& buffer, std::int64_t bit) {
    if (bit < 0 || bit / 64 >= static_cast<std::int64_t>(buffer.numbers)) return;
    if (code_) {
        check(code_->flip(stream_, buffer.device, static_cast<std::uint64_t>(bit)), "flip a bit");
        return check(cuda_.synchronize(stream_), "flip a bit");
    }
    const Buffer word = take(1);
    void* at = static_cast<sim::Number*>(buffer.device) + bit / 64;
    copy(word.host, at, sizeof(sim::Number), CopyKind::to_host);
    *word.host =
        static_cast<sim::Number>(static_cast<std::uint64_t>(*word.host) ^ std::uint64_t{1} << bit % 64);
    copy(at, word.host, sizeof(sim::Number), CopyKind::to_device);
    give_back(word);
}

}  // namespace deadrank::runners
