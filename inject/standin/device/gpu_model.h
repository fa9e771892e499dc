// inject/standin/device/gpu_model.h — The model of GPU that devices have: DEADRANK_STANDIN_GPU is h100, a100
// or b200. Without it a device has no model's name, 16 GiB, and the numbers of an H100.
// DEADRANK_STANDIN_MEMORY is the memory of each device in MiB, if it shall differ.
#pragma once

#include <cstddef>
#include <cstdint>

#include "inject/standin/device/virtual_time.h"

namespace deadrank::inject::standin::device {

struct GpuModel {
    const char* key;   // null: not known
    const char* name;  // as cudaGetDeviceProperties and NVML report it
    std::size_t memory_mib;
    int major, minor;  // compute capability
    int multiprocessors;
    int shared_memory_opt_in, shared_memory_per_multiprocessor;
    int clock_khz, memory_clock_khz, memory_bus_bits, l2_bytes;
    deadrank_device_rates rates;

    std::size_t memory_bytes() const { return memory_mib << 20; }
};

// Numbers of the data sheets: "NVIDIA H100 Tensor Core GPU" (SXM5), "NVIDIA A100 Tensor Core GPU" (SXM4, 80 GB) and
// "NVIDIA HGX B200". Peaks are dense. Single precision is without TF32, which torch does not use for matrix products by
// default. Memory is what nvidia-smi reports. Links are one direction. Launch and shortest kernel are not of a data sheet:
// both are of the order that empty kernels take.
inline constexpr std::int64_t launch_ns = 4000, shortest_kernel_ns = 2000;

inline constexpr GpuModel h100{.key = "h100",
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

inline constexpr GpuModel a100{.key = "a100",
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

inline constexpr GpuModel b200{.key = "b200",
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

const GpuModel& model();
// False after a sentence on stderr. The machine then has no devices: a program must not run on another model
// than was asked for.
bool model_is_known();

}  // namespace deadrank::inject::standin::device
