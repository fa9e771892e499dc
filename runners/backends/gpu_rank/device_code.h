// runners/backends/gpu_rank/device_code.h — Our kernels, ready to be launched: compiled for this machine's
// GPU, or as host functions that the drop-in's stream calls.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "runners/backends/gpu_rank/api.h"

namespace deadrank::runners {

class DeviceCode {
public:
    virtual ~DeviceCode() = default;

    // Errors: environment, if NVRTC or the driver is missing or fails.
    static scenarios::Result<std::unique_ptr<DeviceCode>> make(const Api& api, int device);

    // Enqueued on the stream; they return CUDA's code. `count`: words of 64 bits.
    int fill(CudaStream stream, void* to, std::uint64_t count, std::uint64_t value);
    int digest(CudaStream stream, const void* from, std::uint64_t count,
               void* sum);  // adds to *sum
    int flip(CudaStream stream, void* words, std::uint64_t bit);

protected:
    enum class Kernel { fill, digest, flip };
    // Every kernel takes three words; addresses are passed as words.
    virtual int launch(CudaStream stream, Kernel kernel, std::uint64_t threads,
                       const std::uint64_t (&arguments)[3]) = 0;
};

std::unique_ptr<DeviceCode> code_of_the_host(const Cuda& cuda);
// `architecture`: "compute_90".
scenarios::Result<std::string> compile_for_a_gpu(const std::string& architecture);  // PTX
scenarios::Result<std::unique_ptr<DeviceCode>> code_of_a_gpu(const Cuda& cuda, int device);

extern const char* const device_kernels_text;

}  // namespace deadrank::runners
