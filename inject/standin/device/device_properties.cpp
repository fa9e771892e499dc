// inject/standin/device/device_properties.cpp — Attributes by number, as runtime and driver both count them.
#include "inject/standin/device/device_properties.h"

#include <array>
#include <cstdio>
#include <driver_types.h>
#include <utility>

#include "inject/standin/device/gpu_model.h"

namespace deadrank::inject::standin::device {

std::string bus_id(int device) {
    char text[16];
    std::snprintf(text, sizeof text, "0000:%02x:00.0", static_cast<unsigned>(bus(device)) & 0xffU);
    return text;
}

int device_at(const std::string& bus_id) {
    unsigned domain = 0, bus_number = 0, slot = 0;
    if (std::sscanf(bus_id.c_str(), "%x:%x:%x", &domain, &bus_number, &slot) != 3) return -1;
    return domain == 0 && slot == 0 ? static_cast<int>(bus_number) - bus(0) : -1;
}

std::array<unsigned char, 16> uuid(int device) {
    return {'d', 'e', 'a', 'd', 'r', 'a', 'n', 'k', 0, 0, 0, 0, 0, 0, 0, static_cast<unsigned char>(device)};
}

namespace {

// Those that are the same on every model.
constexpr std::array<std::pair<int, int>, 23> attributes{{
    {cudaDevAttrMaxThreadsPerBlock, threads_per_block},
    {cudaDevAttrMaxBlockDimX, threads_per_block},
    {cudaDevAttrMaxBlockDimY, threads_per_block},
    {cudaDevAttrMaxBlockDimZ, 64},
    {cudaDevAttrMaxGridDimX, 2147483647},
    {cudaDevAttrMaxGridDimY, 65535},
    {cudaDevAttrMaxGridDimZ, 65535},
    {cudaDevAttrMaxSharedMemoryPerBlock, shared_memory},
    {cudaDevAttrTotalConstantMemory, 65536},
    {cudaDevAttrWarpSize, warp},
    {cudaDevAttrMaxRegistersPerBlock, registers},
    {cudaDevAttrMaxRegistersPerMultiprocessor, registers},
    {cudaDevAttrCanMapHostMemory, 1},
    {cudaDevAttrConcurrentKernels, 1},
    {cudaDevAttrUnifiedAddressing, 1},
    {cudaDevAttrStreamPrioritiesSupported, 1},
    {cudaDevAttrManagedMemory, 1},
    {cudaDevAttrConcurrentManagedAccess, 1},
    {cudaDevAttrComputePreemptionSupported, 1},
    {cudaDevAttrHostRegisterSupported, 1},
    {cudaDevAttrAsyncEngineCount, 3},
    {cudaDevAttrMaxThreadsPerMultiProcessor, threads_per_multiprocessor},
    {cudaDevAttrMaxBlocksPerMultiprocessor, 32},
}};

}  // namespace

int attribute(int number, int device) {
    const GpuModel& gpu = model();
    switch (number) {
        case cudaDevAttrPciBusId:
            return bus(device);
        case cudaDevAttrComputeCapabilityMajor:
            return gpu.major;
        case cudaDevAttrComputeCapabilityMinor:
            return gpu.minor;
        case cudaDevAttrMultiProcessorCount:
            return gpu.multiprocessors;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            return gpu.shared_memory_opt_in;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
            return gpu.shared_memory_per_multiprocessor;
        case cudaDevAttrClockRate:
            return gpu.clock_khz;
        case cudaDevAttrMemoryClockRate:
            return gpu.memory_clock_khz;
        case cudaDevAttrGlobalMemoryBusWidth:
            return gpu.memory_bus_bits;
        case cudaDevAttrL2CacheSize:
            return gpu.l2_bytes;
        default:
            break;
    }
    for (const auto& [known, value] : attributes) {
        if (known == number) return value;
    }
    return 0;
}

}  // namespace deadrank::inject::standin::device
