// runners/backends/gpu_rank/device_compiler.cpp — Our kernels on a GPU: NVRTC compiles the text, the driver
// loads and launches it. Both libraries are loaded by name when needed.
#include <array>
#include <dlfcn.h>
#include <fmt/format.h>
#include <vector>

#include "runners/backends/gpu_rank/device_code.h"

namespace deadrank::runners {

using scenarios::ErrorCode;
using scenarios::refuse;
using scenarios::Result;

namespace {

constexpr const char* remedy =
    "install CUDA's runtime compiler (libnvrtc) beside its runtime, or leave out the faults of device memory";

template <class Function>
bool find(void* library, const char* name, Function& into) {
    into = reinterpret_cast<Function>(dlsym(library, name));
    return into != nullptr;
}

struct Compiler {
    int (*create)(void**, const char*, const char*, int, const char* const*, const char* const*) = nullptr;
    int (*compile)(void*, int, const char* const*) = nullptr;
    int (*ptx_size)(void*, std::size_t*) = nullptr;
    int (*ptx)(void*, char*) = nullptr;
    int (*log_size)(void*, std::size_t*) = nullptr;
    int (*log)(void*, char*) = nullptr;
    int (*destroy)(void**) = nullptr;

    static Result<Compiler> load() {
        void* library = nullptr;
        for (const char* name : {"libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2", "libnvrtc.so"}) {
            if (!library) library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
        }
        Compiler found;
        if (!library)
            return refuse(ErrorCode::environment, "no kernel can be compiled: no libnvrtc.so", remedy);
        const bool whole = find(library, "nvrtcCreateProgram", found.create) &&
                           find(library, "nvrtcCompileProgram", found.compile) &&
                           find(library, "nvrtcGetPTXSize", found.ptx_size) &&
                           find(library, "nvrtcGetPTX", found.ptx) &&
                           find(library, "nvrtcGetProgramLogSize", found.log_size) &&
                           find(library, "nvrtcGetProgramLog", found.log) &&
                           find(library, "nvrtcDestroyProgram", found.destroy);
        if (!whole) return refuse(ErrorCode::environment, "this libnvrtc.so lacks functions", remedy);
        return found;
    }
};

struct Driver {
    int (*load)(void**, const void*) = nullptr;
    int (*function)(void**, void*, const char*) = nullptr;
    int (*launch)(void*, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, CudaStream,
                  void**, void**) = nullptr;
    int (*attribute)(int*, int, int) = nullptr;

    static Result<Driver> load_it() {
        Driver found;
        void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
        const bool whole = library && find(library, "cuModuleLoadData", found.load) &&
                           find(library, "cuModuleGetFunction", found.function) &&
                           find(library, "cuLaunchKernel", found.launch) &&
                           find(library, "cuDeviceGetAttribute", found.attribute);
        if (!whole)
            return refuse(ErrorCode::environment, "no kernel can be launched: no libcuda.so.1", remedy);
        return found;
    }
};

class GpuCode final : public DeviceCode {
public:
    Driver driver;
    std::array<void*, 3> functions{};  // by Kernel

private:
    int launch(CudaStream stream, Kernel kernel, std::uint64_t threads,
               const std::uint64_t (&arguments)[3]) override {
        constexpr unsigned block = 256;
        std::uint64_t words[3] = {arguments[0], arguments[1], arguments[2]};
        void* places[3] = {words, words + 1, words + 2};
        const auto blocks = static_cast<unsigned>((threads + block - 1) / block);
        return driver.launch(functions[static_cast<std::size_t>(kernel)], blocks, 1, 1, block, 1, 1, 0,
                             stream, places, nullptr);
    }
};

}  // namespace

Result<std::string> compile_for_a_gpu(const std::string& architecture) {
    const auto nvrtc = Compiler::load();
    if (!nvrtc) return tl::unexpected(nvrtc.error());
    void* program = nullptr;
    if (nvrtc->create(&program, device_kernels_text, "device_kernels.h", 0, nullptr, nullptr) != 0)
        return refuse(ErrorCode::environment, "NVRTC refused the program", remedy);
    const std::string wanted = "--gpu-architecture=" + architecture;
    const char* const options[] = {wanted.c_str()};
    std::string text;
    std::size_t size = 0;
    const int code = nvrtc->compile(program, 1, options);
    (code == 0 ? nvrtc->ptx_size : nvrtc->log_size)(program, &size);
    text.resize(size);
    if (size > 0) (code == 0 ? nvrtc->ptx : nvrtc->log)(program, text.data());
    nvrtc->destroy(&program);
    if (code != 0)
        return refuse(ErrorCode::environment, fmt::format("NVRTC, for {}: {}", architecture, text), remedy);
    return text;
}

Result<std::unique_ptr<DeviceCode>> code_of_a_gpu(const Cuda&, int device) {
    constexpr int major = 75, minor = 76;  // of the compute capability, as the driver numbers attributes
    const auto driver = Driver::load_it();
    if (!driver) return tl::unexpected(driver.error());
    int high = 0, low = 0;
    driver->attribute(&high, major, device);
    driver->attribute(&low, minor, device);
    const auto ptx = compile_for_a_gpu(fmt::format("compute_{}{}", high, low));
    if (!ptx) return tl::unexpected(ptx.error());
    auto made = std::make_unique<GpuCode>();
    made->driver = *driver;
    void* module = nullptr;
    if (const int code = driver->load(&module, ptx->c_str()); code != 0)
        return refuse(ErrorCode::environment, fmt::format("the driver does not load our kernels: {}", code),
                      remedy);
    const char* const names[] = {"deadrank_fill", "deadrank_digest", "deadrank_flip"};
    for (std::size_t i = 0; i < made->functions.size(); ++i) {
        if (driver->function(&made->functions[i], module, names[i]) != 0)
            return refuse(ErrorCode::environment, fmt::format("the driver does not find {}", names[i]),
                          remedy);
    }
    return made;
}

}  // namespace deadrank::runners
