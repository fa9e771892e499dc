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

const GpuModel& model();
// False after a sentence on stderr. The machine then has no devices: a program must not run on another model
// than was asked for.
bool model_is_known();

}  // namespace deadrank::inject::standin::device
