// runners/backends/gpu_rank/api.h — The functions of CUDA's runtime and of NCCL that our ranks call, found by
// name in the machine's libraries: nothing is linked, so this builds everywhere. Names, numbers and
// signatures are those of cuda_runtime_api.h and nccl.h.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "scenarios/model/error.h"

namespace deadrank::runners {

using CudaStream = void*;
using CudaEvent = void*;
using NcclHandle = void*;
struct NcclId {
    char bytes[128];
};

constexpr int cuda_ok = 0, cuda_not_ready = 600;
constexpr int nccl_in_progress = 7;
constexpr unsigned non_blocking = 1;  // cudaStreamNonBlocking

// ncclConfig_t as of 2.14, the first release with one; later ones accept it unchanged.
struct NcclConfig {
    std::size_t size = 24;
    unsigned magic = 0xcafebeef, version = 21400;
    int blocking = 0, unused = 0;
};
static_assert(sizeof(NcclConfig) == 24);
enum class CopyKind { to_device = 1, to_host = 2 };
enum class NcclType { int8 = 0, int32 = 2, int64 = 4, float16 = 6, float64 = 8 };
enum class NcclReduce { sum = 0, prod = 1, max = 2, min = 3 };

struct Cuda {
    int (*count)(int*) = nullptr;
    int (*set_device)(int) = nullptr;
    int (*malloc)(void**, std::size_t) = nullptr;
    int (*free)(void*) = nullptr;
    int (*memory)(std::size_t*, std::size_t*) = nullptr;  // free, total
    int (*malloc_host)(void**, std::size_t) = nullptr;
    int (*copy)(void*, const void*, std::size_t, CopyKind, CudaStream) = nullptr;
    int (*stream)(CudaStream*, unsigned) = nullptr;
    int (*synchronize)(CudaStream) = nullptr;
    int (*call_host)(CudaStream, void (*)(void*), void*) = nullptr;
    int (*event)(CudaEvent*, unsigned) = nullptr;
    int (*record)(CudaEvent, CudaStream) = nullptr;
    int (*query)(CudaEvent) = nullptr;
    int (*forget)(CudaEvent) = nullptr;
    int (*version)(int*) = nullptr;
    const char* (*words)(int) = nullptr;
};

struct Nccl {
    int (*version)(int*) = nullptr;
    int (*unique_id)(NcclId*) = nullptr;
    int (*init)(NcclHandle*, int, NcclId, int) = nullptr;
    int (*init_by_config)(NcclHandle*, int, NcclId, int, NcclConfig*) = nullptr;
    int (*async_error)(NcclHandle, int*) = nullptr;
    int (*abort)(NcclHandle) = nullptr;
    int (*destroy)(NcclHandle) = nullptr;
    int (*group_start)() = nullptr;
    int (*group_end)() = nullptr;
    const char* (*words)(int) = nullptr;
    const char* (*last_error)(NcclHandle) = nullptr;
    int (*all_reduce)(const void*, void*, std::size_t, NcclType, NcclReduce, NcclHandle,
                      CudaStream) = nullptr;
    int (*reduce_scatter)(const void*, void*, std::size_t, NcclType, NcclReduce, NcclHandle,
                          CudaStream) = nullptr;
    int (*reduce)(const void*, void*, std::size_t, NcclType, NcclReduce, int, NcclHandle,
                  CudaStream) = nullptr;
    int (*broadcast)(const void*, void*, std::size_t, NcclType, int, NcclHandle, CudaStream) = nullptr;
    int (*all_gather)(const void*, void*, std::size_t, NcclType, NcclHandle, CudaStream) = nullptr;
    // Since 2.28; absent before.
    int (*all_to_all)(const void*, void*, std::size_t, NcclType, NcclHandle, CudaStream) = nullptr;
    int (*send)(const void*, std::size_t, NcclType, int, NcclHandle, CudaStream) = nullptr;
    int (*receive)(void*, std::size_t, NcclType, int, NcclHandle, CudaStream) = nullptr;
};

struct Api {
    Cuda cuda;
    Nccl nccl;
    std::string cuda_library, nccl_library;  // where they were found
    bool standin = false;                    // both libraries are this project's own, without a GPU
};

// Directories of further NCCL releases, separated by colons.
inline constexpr const char* releases_variable = "DEADRANK_NCCL_PATH";
struct NcclRelease {
    int code = 0;  // 22809
    std::string library;
};
std::vector<NcclRelease> further_releases();

// `nccl`: load this library instead of the one that the loader would find. Errors: environment, with the
// loader's message.
scenarios::Result<Api> open_api(const std::string& nccl = {});

int device_count(const Cuda& cuda, std::string& why);
std::vector<std::string> device_names(int count);  // from the driver; empty where it reports none

// 22809 as 2.28.9.
std::string nccl_version_text(int code);

}  // namespace deadrank::runners
