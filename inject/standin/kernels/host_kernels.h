// inject/standin/kernels/host_kernels.h — For a library that holds host versions of a program's kernels:
// include it first, then the kernels, and name each in deadrank_standin_kernels. DEADRANK_STANDIN_KERNELS is
// its path. Blocks and threads run one after another, so a kernel must not wait for another thread of its
// block.
#pragma once

#include <cuda_runtime.h>
#include <dlfcn.h>
#include <functional>
#include <string>
#include <tuple>
#include <utility>

inline thread_local uint3 threadIdx, blockIdx;
inline thread_local dim3 blockDim, gridDim;

namespace deadrank::inject::standin {

using Launch = std::function<void(dim3 grid, dim3 block)>;
using Binder = Launch (*)(void** arguments);
using AddKernel = void (*)(void* table, const char* name, Binder binder);

// Calls one thread after another of one block after another.
template <class Thread>
void each_thread(dim3 grid, dim3 block, Thread thread) {
    gridDim = grid;
    blockDim = block;
    const auto each = [](dim3 size, uint3& place, auto&& inner) {
        for (place.z = 0; place.z < size.z; ++place.z) {
            for (place.y = 0; place.y < size.y; ++place.y) {
                for (place.x = 0; place.x < size.x; ++place.x) inner();
            }
        }
    };
    each(grid, blockIdx, [&] { each(block, threadIdx, thread); });
}

// The arguments are copied when the kernel is launched: the program's own are gone when it runs.
template <auto kernel, class... Arguments, std::size_t... index>
Launch bind_kernel(void (*)(Arguments...), void** arguments, std::index_sequence<index...>) {
    std::tuple<std::decay_t<Arguments>...> values(
        *static_cast<std::decay_t<Arguments>*>(arguments[index])...);
    return [values](dim3 grid, dim3 block) { each_thread(grid, block, [&] { std::apply(kernel, values); }); };
}

class HostKernels {
public:
    HostKernels(void* table, AddKernel adder) : table_(table), add_(adder) {}

    // The kernel's own symbol is its name; give one where the program's copy is called otherwise.
    template <auto kernel>
    void add(const char* name = nullptr) const {
        Dl_info self{};
        if (!name && dladdr(reinterpret_cast<void*>(kernel), &self)) name = self.dli_sname;
        if (name) add_(table_, name, [](void** arguments) { return bound<kernel>(kernel, arguments); });
    }

private:
    template <auto kernel, class... Arguments>
    static Launch bound(void (*function)(Arguments...), void** arguments) {
        return bind_kernel<kernel>(function, arguments, std::index_sequence_for<Arguments...>());
    }

    void* table_;
    AddKernel add_;
};

}  // namespace deadrank::inject::standin
