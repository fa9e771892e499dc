// inject/standin/runtime/copies.cpp — Copies and fills, in the order of their stream. Pageable memory is read
// before the call returns and written before it returns, as it is on a GPU; the forms without a stream wait.
#include <algorithm>
#include <cstring>
#include <string>

#include "inject/standin/runtime/runtime.h"

using namespace deadrank::standin;

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
