// inject/standin/runtime/kernels.cpp — nvcc's binaries register their kernels by name and launch them by
// handle. Code for a device cannot run here: the host version of that name does, where a library brings one.
// A kernel without one is refused, or does nothing with DEADRANK_STANDIN_LENIENT=1.
#include <cstdio>
#include <cstdlib>
#include <cxxabi.h>
#include <map>
#include <memory>
#include <mutex>
#include <unordered_map>

#include "inject/standin/kernels/host_kernels.h"
#include "inject/standin/runtime/runtime.h"

using namespace deadrank::inject::standin;

namespace {

// Internal linkage leaves a compiler's own marks in names: they differ between compilers and are left out.
std::string plain_name(const char* mangled) {
    int status = 0;
    const std::unique_ptr<char, decltype(&std::free)> text(
        abi::__cxa_demangle(mangled, nullptr, nullptr, &status), std::free);
    std::string name(status == 0 ? text.get() : mangled);
    for (const char* mark : {"(anonymous namespace)::", "_GLOBAL__N__", "_INTERNAL_"}) {
        for (std::size_t at = name.find(mark); at != std::string::npos; at = name.find(mark)) {
            const std::size_t end = name.find("::", at);
            name.erase(at, end == std::string::npos ? end : end + 2 - at);
        }
    }
    return name;
}

class Registry {
public:
    static Registry& of_this_process() {
        static Registry& all = *new Registry;
        return all;
    }

    void add_name(const void* handle, const char* name) {
        const std::lock_guard lock(mutex_);
        names_[handle] = name;
    }

    Binder binder_of(const void* handle) {
        const std::lock_guard lock(mutex_);
        const auto [asked, first] = asked_.try_emplace(handle, nullptr);
        const auto known = names_.find(handle);
        if (!first || known == names_.end()) return asked->second;
        const auto found = binders_.find(plain_name(known->second));
        if (found != binders_.end())
            asked->second = found->second;
        else
            report_missing_kernel(known->second);
        return asked->second;
    }

    std::string name_of(const void* handle) {
        const std::lock_guard lock(mutex_);
        const auto known = names_.find(handle);
        return known == names_.end() ? "an unregistered kernel" : plain_name(known->second);
    }

    const bool lenient = std::getenv("DEADRANK_STANDIN_LENIENT") != nullptr;

    bool knows(const void* handle) {
        const std::lock_guard lock(mutex_);
        return names_.contains(handle);
    }

private:
    Registry() {
        const char* path = std::getenv("DEADRANK_STANDIN_KERNELS");
        if (!path) return;
        void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        using Tell = void (*)(void*, AddKernel);
        const auto tell =
            library ? reinterpret_cast<Tell>(dlsym(library, "deadrank_standin_kernels")) : nullptr;
        if (!tell) {
            std::fprintf(stderr, "deadrank: no host kernels in DEADRANK_STANDIN_KERNELS=%s: %s\n", path,
                         dlerror());
            return;
        }
        tell(this, [](void* self, const char* name, Binder binder) {
            static_cast<Registry*>(self)->binders_[plain_name(name)] = binder;
        });
    }

    // Reports only the first unless asked: a program may have hundreds, yet their results are not real.
    void report_missing_kernel(const char* name) {
        const bool all = std::getenv("DEADRANK_STANDIN_LOG");
        if (!all && said_) return;
        std::fprintf(stderr, "deadrank: kernel %s has no host version and %s%s\n", plain_name(name).c_str(),
                     lenient ? "does nothing" : "is refused", all ? "" : " (others: DEADRANK_STANDIN_LOG=1)");
        said_ = true;
    }

    std::mutex mutex_;
    bool said_ = false;
    std::unordered_map<const void*, const char*> names_;
    std::map<std::string, Binder> binders_;
    std::unordered_map<const void*, Binder> asked_;  // null: no host version
};

struct Configuration {
    dim3 grid, block;
    std::size_t shared = 0;
    cudaStream_t stream = nullptr;
};
thread_local Configuration configuration;

cudaError_t launch(const void* handle, dim3 grid, dim3 block, void** arguments, cudaStream_t stream) {
    if (!handle) return answer(cudaErrorInvalidDeviceFunction);
    if (grid.x * grid.y * grid.z == 0 || block.x * block.y * block.z == 0)
        return answer(cudaErrorInvalidConfiguration);
    Registry& registry = Registry::of_this_process();
    const Binder binder = registry.binder_of(handle);
    if (!binder && !registry.lenient)
        return refuse(
            cudaErrorNoKernelImageForDevice,
            registry.name_of(handle) +
                " has no host version; compute this on the CPU, or set DEADRANK_STANDIN_LENIENT=1 to "
                "let such kernels do nothing");
    if (!binder) return push(stream, [] {});
    return push(stream, [bound = binder(arguments), grid, block] { bound(grid, block); });
}

}  // namespace

extern "C" {

void** __cudaRegisterFatBinary(void* binary) { return new void*(binary); }
void __cudaRegisterFatBinaryEnd(void**) {}
void __cudaUnregisterFatBinary(void** handle) { delete handle; }
char __cudaInitModule(void**) { return 1; }
void __cudaRegisterFunction(void**, const char* host, char*, const char* name, int, uint3*, uint3*, dim3*,
                            dim3*, int*) {
    Registry::of_this_process().add_name(host, name);
}
void __cudaRegisterVar(void**, char*, char*, const char*, int, std::size_t, int, int) {}
void __cudaRegisterManagedVar(void**, void**, char*, const char*, int, std::size_t, int, int) {}
void __cudaRegisterHostVar(void**, const char*, char*, std::size_t) {}

unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, std::size_t shared, cudaStream_t stream) {
    configuration = {grid, block, shared, stream};
    return 0;
}
cudaError_t __cudaPopCallConfiguration(dim3* grid, dim3* block, std::size_t* shared, void* stream) {
    *grid = configuration.grid;
    *block = configuration.block;
    *shared = configuration.shared;
    *static_cast<cudaStream_t*>(stream) = configuration.stream;
    return cudaSuccess;
}
cudaError_t __cudaGetKernel(cudaKernel_t* into, const void* host) {
    *into = reinterpret_cast<cudaKernel_t>(const_cast<void*>(host));
    return cudaSuccess;
}

cudaError_t cudaLaunchKernel(const void* kernel, dim3 grid, dim3 block, void** arguments, std::size_t,
                             cudaStream_t stream) {
    return launch(kernel, grid, block, arguments, stream);
}
cudaError_t __cudaLaunchKernel(cudaKernel_t kernel, dim3 grid, dim3 block, void** arguments, std::size_t,
                               cudaStream_t stream) {
    return launch(kernel, grid, block, arguments, stream);
}
cudaError_t cudaLaunchCooperativeKernel(const void* kernel, dim3 grid, dim3 block, void** arguments,
                                        std::size_t, cudaStream_t stream) {
    return launch(kernel, grid, block, arguments, stream);
}
cudaError_t cudaLaunchKernelExC(const cudaLaunchConfig_t* config, const void* kernel, void** arguments) {
    if (!config) return answer(cudaErrorInvalidValue);
    return launch(kernel, config->gridDim, config->blockDim, arguments, config->stream);
}

cudaError_t cudaGetFuncBySymbol(cudaFunction_t* into, const void* symbol) {
    *into = reinterpret_cast<cudaFunction_t>(const_cast<void*>(symbol));
    return cudaSuccess;
}
cudaError_t cudaFuncGetAttributes(cudaFuncAttributes* attributes, const void* kernel) {
    if (!attributes || !Registry::of_this_process().knows(kernel))
        return answer(cudaErrorInvalidDeviceFunction);
    *attributes = {};
    attributes->maxThreadsPerBlock = 1024;
    attributes->numRegs = 32;
    attributes->ptxVersion = attributes->binaryVersion = 90;
    attributes->maxDynamicSharedSizeBytes = 49152;
    return cudaSuccess;
}
cudaError_t cudaFuncSetAttribute(const void*, cudaFuncAttribute, int) { return cudaSuccess; }
cudaError_t cudaFuncSetCacheConfig(const void*, cudaFuncCache) { return cudaSuccess; }
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void*, int size, std::size_t) {
    if (!blocks || size <= 0) return answer(cudaErrorInvalidValue);
    *blocks = 2048 / size;
    return cudaSuccess;
}
cudaError_t cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* kernel, int size,
                                                                   std::size_t shared, unsigned) {
    return cudaOccupancyMaxActiveBlocksPerMultiprocessor(blocks, kernel, size, shared);
}
}
