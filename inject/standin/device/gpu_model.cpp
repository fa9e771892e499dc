// inject/standin/device/gpu_model.cpp — Numbers of the data sheets: "NVIDIA H100 Tensor Core GPU" (SXM5),
// "NVIDIA A100 Tensor Core GPU" (SXM4, 80 GB) and "NVIDIA HGX B200". Peaks are dense. Single precision is
// without TF32, which torch does not use for matrix products by default. Memory is what nvidia-smi reports.
// Links are one direction. Launch and shortest kernel are not of a data sheet: both are of the order that
// empty kernels take.
#include "inject/standin/device/gpu_model.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <initializer_list>

namespace deadrank::inject::standin::device {

namespace {

constexpr std::int64_t launch_ns = 4000, shortest_kernel_ns = 2000;

constexpr GpuModel h100{.key = "h100",
                        .name = "NVIDIA H100 80GB HBM3 (deadrank)",
                        .memory_mib = 81559,
                        .major = 9,
                        .minor = 0,
                        .multiprocessors = 132,
                        .shared_memory_opt_in = 232448,
                        .shared_memory_per_multiprocessor = 233472,
                        .clock_khz = 1980000,
                        .memory_clock_khz = 2619000,
                        .memory_bus_bits = 5120,
                        .l2_bytes = 52428800,
                        .rates = {3.35e12, 55e9, 450e9, 67e12, 989e12, launch_ns, shortest_kernel_ns}};

constexpr GpuModel a100{.key = "a100",
                        .name = "NVIDIA A100-SXM4-80GB (deadrank)",
                        .memory_mib = 81920,
                        .major = 8,
                        .minor = 0,
                        .multiprocessors = 108,
                        .shared_memory_opt_in = 166912,
                        .shared_memory_per_multiprocessor = 167936,
                        .clock_khz = 1410000,
                        .memory_clock_khz = 1593000,
                        .memory_bus_bits = 5120,
                        .l2_bytes = 41943040,
                        .rates = {2.039e12, 25e9, 300e9, 19.5e12, 312e12, launch_ns, shortest_kernel_ns}};

constexpr GpuModel b200{.key = "b200",
                        .name = "NVIDIA B200 (deadrank)",
                        .memory_mib = 183359,
                        .major = 10,
                        .minor = 0,
                        .multiprocessors = 148,
                        .shared_memory_opt_in = 232448,
                        .shared_memory_per_multiprocessor = 233472,
                        .clock_khz = 1965000,
                        .memory_clock_khz = 3996000,
                        .memory_bus_bits = 8192,
                        .l2_bytes = 132644864,
                        .rates = {8e12, 55e9, 900e9, 75e12, 2250e12, launch_ns, shortest_kernel_ns}};

constexpr GpuModel without_model() {
    GpuModel device = h100;
    device.key = "";
    device.name = "deadrank stand-in device";
    device.memory_mib = std::size_t{16} << 10;
    return device;
}

GpuModel chosen_model() {
    const char* text = std::getenv("DEADRANK_STANDIN_GPU");
    const char* key = text ? text : "";
    for (const GpuModel& one : {without_model(), h100, a100, b200}) {
        if (std::strcmp(one.key, key) != 0) continue;
        GpuModel device = one;
        const char* memory = std::getenv("DEADRANK_STANDIN_MEMORY");
        if (memory && std::atoll(memory) > 0)
            device.memory_mib = static_cast<std::size_t>(std::atoll(memory));
        return device;
    }
    std::fprintf(stderr,
                 "deadrank: DEADRANK_STANDIN_GPU=%s: no device is visible; choose h100, a100 or b200\n", key);
    GpuModel none = without_model();
    none.key = nullptr;
    return none;
}

}  // namespace

bool model_is_known() { return model().key != nullptr; }

const GpuModel& model() {
    static const GpuModel device = chosen_model();
    return device;
}

}  // namespace deadrank::inject::standin::device
