// inject/standin/runtime/runtime_properties.h — What a device is like, for the struct of either release:
// fields have the same names in both, at other offsets.
#pragma once

#include <cstdio>
#include <cstring>

#include "inject/standin/device/device_properties.h"
#include "inject/standin/device/gpu_model.h"
#include "inject/standin/runtime/runtime.h"

namespace deadrank::inject::standin {

template <class Properties>
cudaError_t describe_device(Properties* properties, int device) {
    if (!properties) return answer(cudaErrorInvalidValue);
    if (device < 0 || device >= devices().count()) return answer(cudaErrorInvalidDevice);
    *properties = {};
    std::snprintf(properties->name, sizeof properties->name, "%s", device::model().name);
    const auto uuid = device::uuid(devices().physical(device));
    static_assert(sizeof properties->uuid == sizeof uuid);
    std::memcpy(&properties->uuid, uuid.data(), uuid.size());
    properties->totalGlobalMem = Memory::capacity();
    properties->sharedMemPerBlock = device::shared_memory;
    properties->sharedMemPerBlockOptin = static_cast<std::size_t>(device::model().shared_memory_opt_in);
    properties->sharedMemPerMultiprocessor =
        static_cast<std::size_t>(device::model().shared_memory_per_multiprocessor);
    properties->regsPerBlock = properties->regsPerMultiprocessor = device::registers;
    properties->warpSize = device::warp;
    properties->maxThreadsPerBlock = device::threads_per_block;
    properties->maxThreadsPerMultiProcessor = device::threads_per_multiprocessor;
    properties->maxThreadsDim[0] = properties->maxThreadsDim[1] = device::threads_per_block;
    properties->maxThreadsDim[2] = 64;
    properties->maxGridSize[0] = 2147483647;
    properties->maxGridSize[1] = properties->maxGridSize[2] = 65535;
    properties->major = device::model().major;
    properties->minor = device::model().minor;
    properties->multiProcessorCount = device::model().multiprocessors;
    properties->concurrentKernels = properties->unifiedAddressing = properties->canMapHostMemory = 1;
    properties->managedMemory = properties->streamPrioritiesSupported = properties->hostRegisterSupported = 1;
    properties->pciBusID = device::bus(devices().physical(device));
    properties->asyncEngineCount = 3;
    properties->l2CacheSize = device::attribute(cudaDevAttrL2CacheSize, device);
    properties->memoryBusWidth = device::attribute(cudaDevAttrGlobalMemoryBusWidth, device);
    properties->maxBlocksPerMultiProcessor = 32;
    if constexpr (requires { properties->clockRate; }) {  // CUDA 12 alone
        properties->clockRate = device::model().clock_khz;
        properties->memoryClockRate = device::model().memory_clock_khz;
        properties->deviceOverlap = 1;
    }
    return cudaSuccess;
}

}  // namespace deadrank::inject::standin
