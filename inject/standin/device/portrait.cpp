// inject/standin/device/portrait.cpp — Attributes by number, as runtime and driver both count them.
#include "inject/standin/device/portrait.h"

#include <cstdio>
#include <driver_types.h>

namespace deadrank::standin::portrait {

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

int attribute(int number, int device) {
    switch (number) {
        case cudaDevAttrMaxThreadsPerBlock:
        case cudaDevAttrMaxBlockDimX:
        case cudaDevAttrMaxBlockDimY:
            return threads_per_block;
        case cudaDevAttrMaxBlockDimZ:
            return 64;
        case cudaDevAttrMaxGridDimX:
            return 2147483647;
        case cudaDevAttrMaxGridDimY:
        case cudaDevAttrMaxGridDimZ:
            return 65535;
        case cudaDevAttrMaxSharedMemoryPerBlock:
            return shared_memory;
        case cudaDevAttrMaxSharedMemoryPerBlockOptin:
            return shared_memory_opt_in;
        case cudaDevAttrMaxSharedMemoryPerMultiprocessor:
            return shared_memory_per_multiprocessor;
        case cudaDevAttrTotalConstantMemory:
            return 65536;
        case cudaDevAttrWarpSize:
            return warp;
        case cudaDevAttrMaxRegistersPerBlock:
        case cudaDevAttrMaxRegistersPerMultiprocessor:
            return registers;
        case cudaDevAttrClockRate:
            return 1980000;
        case cudaDevAttrMultiProcessorCount:
            return multiprocessors;
        case cudaDevAttrCanMapHostMemory:
        case cudaDevAttrConcurrentKernels:
        case cudaDevAttrUnifiedAddressing:
        case cudaDevAttrStreamPrioritiesSupported:
        case cudaDevAttrManagedMemory:
        case cudaDevAttrConcurrentManagedAccess:
        case cudaDevAttrComputePreemptionSupported:
        case cudaDevAttrHostRegisterSupported:
            return 1;
        case cudaDevAttrPciBusId:
            return bus(device);
        case cudaDevAttrAsyncEngineCount:
            return 3;
        case cudaDevAttrMemoryClockRate:
            return 2619000;
        case cudaDevAttrGlobalMemoryBusWidth:
            return 5120;
        case cudaDevAttrL2CacheSize:
            return 52428800;
        case cudaDevAttrMaxThreadsPerMultiProcessor:
            return threads_per_multiprocessor;
        case cudaDevAttrMaxBlocksPerMultiprocessor:
            return 32;
        case cudaDevAttrComputeCapabilityMajor:
            return major;
        case cudaDevAttrComputeCapabilityMinor:
            return minor;
        default:
            return 0;
    }
}

}  // namespace deadrank::standin::portrait
