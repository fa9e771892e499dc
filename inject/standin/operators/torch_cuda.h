// inject/standin/operators/torch_cuda.h — The stream and the allocator that torch uses for a CUDA device.
// Their own headers need those of CUDA, which a machine without GPUs may lack. Where the device-independent
// interface of an earlier release does not have them, the symbols of torch's CUDA library do.
#pragma once

#include <atomic>
#include <c10/core/Allocator.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <dlfcn.h>

namespace deadrank::inject::standin::operators {

inline void* symbol_of_torch_cuda(const char* name) {
    void* library = dlopen("libc10_cuda.so", RTLD_LAZY | RTLD_NOLOAD);
    void* symbol = library ? dlsym(library, name) : nullptr;
    TORCH_CHECK(symbol, "deadrank: libc10_cuda.so of this torch has no ", name);
    return symbol;
}

template <class Guard>
void* native_handle(const Guard& guard, const c10::Stream& stream) {
    if constexpr (requires { guard.getStreamNativeHandle(stream); }) {
        return guard.getStreamNativeHandle(stream);
    } else {
        // c10::cuda::CUDAStream::stream(). A CUDAStream is a Stream and no more.
        using Ask = void* (*)(const c10::Stream*);
        static const Ask ask =
            reinterpret_cast<Ask>(symbol_of_torch_cuda("_ZNK3c104cuda10CUDAStream6streamEv"));
        return ask(&stream);
    }
}

// Null is the default stream.
inline void* current_stream(c10::Device device) {
    const c10::impl::VirtualGuardImpl guard(c10::kCUDA);
    return native_handle(guard, guard.getStream(device));
}

// Asked anew each time: torch.cuda.memory.change_current_allocator() replaces it.
inline c10::Allocator& cuda_allocator() {
    if (c10::Allocator* registered = c10::GetAllocator(c10::kCUDA)) return *registered;
    // c10::cuda::CUDACachingAllocator::allocator. Its type has Allocator as its first base.
    static const auto* current = static_cast<const std::atomic<c10::Allocator*>*>(
        symbol_of_torch_cuda("_ZN3c104cuda20CUDACachingAllocator9allocatorE"));
    return *current->load();
}

}  // namespace deadrank::inject::standin::operators
