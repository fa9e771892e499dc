// inject/standin/runtime/cuda12/properties_12.h — A device's properties as CUDA 12 lays them out, and CUDA 11
// before it. Names are those of the interface for the fields that describe_device() fills; fields that stay
// zero are counted.
#pragma once

#include <cstddef>

namespace deadrank::inject::standin::runtime::cuda12 {

struct Properties11 {
    char name[256];
    unsigned char uuid[16];
    char luid[8];
    unsigned luidDeviceNodeMask;
    std::size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    std::size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    std::size_t totalConstMem;
    int major, minor;
    std::size_t textureAlignment, texturePitchAlignment;
    int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory;
    int computeMode;
    int texturesAndSurfaces[40];  // maxTexture1D to maxSurfaceCubemapLayered
    std::size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount;
    int unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize;
    int maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
    std::size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID;
    int hostNativeAtomicSupported, singleToDoublePrecisionPerfRatio, pageableMemoryAccess;
    int concurrentManagedAccess, computePreemptionSupported, canUseHostPointerForRegisteredMem;
    int cooperativeLaunch, cooperativeMultiDeviceLaunch;
    std::size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost;
    int maxBlocksPerMultiProcessor, accessPolicyMaxWindowSize;
    std::size_t reservedSharedMemPerBlock;
};

struct Properties : Properties11 {
    int hostRegisterSupported;
    int supportedSinceThen[12];  // sparseCudaArraySupported to unifiedFunctionPointers
    int reserved[63];
};

// Measured with the header of CUDA 12.9, and the same with 12.1's.
static_assert(sizeof(Properties) == 1032 && sizeof(Properties11) == 728);
static_assert(offsetof(Properties11, major) == 360);
static_assert(offsetof(Properties11, maxBlocksPerMultiProcessor) == 712);
static_assert(offsetof(Properties11, reservedSharedMemPerBlock) == 720);

}  // namespace deadrank::inject::standin::runtime::cuda12
