// inject/shims/nccl/nccl_below.cpp — The functions of the NCCL and the CUDA runtime that are loaded.
#include "inject/shims/nccl/nccl_below.h"

#include <cstdio>
#include <dlfcn.h>

#include "inject/shims/core/below.h"
#include "inject/shims/nccl/nccl_abi.h"

namespace deadrank::inject::shims {

// ── A function is looked for until it is found, since NCCL may be loaded after us.

namespace {

constexpr std::array<CallBelow, function_count> names = {{
    {"ncclAllGather", "all_gather"},
    {"ncclAllReduce", "all_reduce"},
    {"ncclAlltoAll", "all_to_all"},
    {"ncclBcast", "broadcast"},
    {"ncclBroadcast", "broadcast"},
    {"ncclGather", "gather"},
    {"ncclRecv", "recv"},
    {"ncclReduce", "reduce"},
    {"ncclReduceScatter", "reduce_scatter"},
    {"ncclScatter", "scatter"},
    {"ncclSend", "send"},
    {"ncclCommAbort", "comm_abort"},
    {"ncclCommCount", "comm_count"},
    {"ncclCommCuDevice", "comm_cu_device"},
    {"ncclCommDeregister", "comm_deregister"},
    {"ncclCommDestroy", "comm_destroy"},
    {"ncclCommFinalize", "comm_finalize"},
    {"ncclCommGetAsyncError", "comm_get_async_error"},
    {"ncclCommInitAll", "comm_init"},
    {"ncclCommInitRank", "comm_init"},
    {"ncclCommInitRankConfig", "comm_init"},
    {"ncclCommInitRankScalable", "comm_init"},
    {"ncclCommRegister", "comm_register"},
    {"ncclCommRevoke", "comm_revoke"},
    {"ncclCommShrink", "comm_init"},
    {"ncclCommSplit", "comm_init"},
    {"ncclCommUserRank", "comm_user_rank"},
    {"ncclCommWindowDeregister", "comm_window_deregister"},
    {"ncclCommWindowRegister", "comm_window_register"},
    {"ncclDevCommCreate", "dev_comm_create"},
    {"ncclDevCommDestroy", "dev_comm_destroy"},
    {"ncclGetErrorString", "get_error_string"},
    {"ncclGetLastError", "get_last_error"},
    {"ncclGetUniqueId", "get_unique_id"},
    {"ncclGetVersion", "get_version"},
    {"ncclGinBarrierCreateRequirement", "gin_barrier_create_requirement"},
    {"ncclGroupEnd", "group_end"},
    {"ncclGroupSimulateEnd", "group_simulate_end"},
    {"ncclGroupStart", "group_start"},
    {"ncclLLA2ACalcSlots", "ll_a2a_calc_slots"},
    {"ncclLLA2ACreateRequirement", "ll_a2a_create_requirement"},
    {"ncclLsaBarrierCreateRequirement", "lsa_barrier_create_requirement"},
    {"ncclMemAlloc", "mem_alloc"},
    {"ncclMemFree", "mem_free"},
    {"ncclRedOpCreatePreMulSum", "red_op_create_pre_mul_sum"},
    {"ncclRedOpDestroy", "red_op_destroy"},
    {"ncclResetDebugInit", "reset_debug_init"},
    {"ncclTeamLsa", "team_lsa"},
    {"ncclTeamRail", "team_rail"},
    {"ncclTeamRankToLsa", "team_rank_to_lsa"},
    {"ncclTeamRankToWorld", "team_rank_to_world"},
    {"ncclTeamWorld", "team_world"},
}};

}  // namespace

const char* symbol_of(Function which) { return names[static_cast<std::size_t>(which)].symbol; }
const char* moment_of(Function which) { return names[static_cast<std::size_t>(which)].moment; }

void* search(Function which) { return symbol_below(symbol_of(which), "libnccl.so.2"); }

int missing(Function which) {
    static std::array<std::atomic<bool>, function_count> said{};
    if (!said[static_cast<std::size_t>(which)].exchange(true)) {
        std::fprintf(stderr, "deadrank: the NCCL of this program has no %s\n", symbol_of(which));
    }
    return nccl_system_error;
}

// ── Runtime and driver have the same shapes but for the direction of a copy, which the driver finds out by
// itself (unified addressing).

namespace {

constexpr int copy_default = 4;    // cudaMemcpyDefault: the direction follows from the addresses
constexpr int capture_active = 1;  // of cudaStreamCaptureStatus

template <class Shape>
Shape* as(void* function) {
    return reinterpret_cast<Shape*>(function);
}

}  // namespace

Device::Device() {
    for (const char* name : {"libcudart.so.13", "libcudart.so.12", "libcudart.so.11.0"}) {
        if (!library_) library_ = ::dlopen(name, RTLD_LAZY | RTLD_NOLOAD);
    }
    is_runtime_ = library_ != nullptr;
    if (!library_) library_ = ::dlopen("libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    if (!library_) return;
    allocate_ = find("cudaMalloc", "cuMemAlloc_v2");
    copy_ = find("cudaMemcpyAsync", "cuMemcpyAsync");
    wait_ = find("cudaStreamSynchronize", "cuStreamSynchronize");
    call_ = find("cudaLaunchHostFunc", "cuLaunchHostFunc");
    capturing_ = find("cudaStreamIsCapturing", "cuStreamIsCapturing");
}

void* Device::find(const char* runtime, const char* driver) {
    return ::dlsym(library_, is_runtime_ ? runtime : driver);
}

void* Device::allocate(std::size_t bytes) const {
    void* made = nullptr;
    return as<int(void**, std::size_t)>(allocate_)(&made, bytes) == 0 ? made : nullptr;
}

bool Device::copy(void* to, const void* from, std::size_t bytes, Stream stream) const {
    if (is_runtime_) {
        return as<int(void*, const void*, std::size_t, int, Stream)>(copy_)(to, from, bytes, copy_default,
                                                                            stream) == 0;
    }
    return as<int(void*, const void*, std::size_t, Stream)>(copy_)(to, from, bytes, stream) == 0;
}

bool Device::wait(Stream stream) const { return as<int(Stream)>(wait_)(stream) == 0; }

bool Device::when_done(Stream stream, void (*call)(void*), void* argument) const {
    if (!call_) return false;
    int status = 0;
    // A call inside a captured graph would run at each replay.
    if (capturing_ && (as<int(Stream, int*)>(capturing_)(stream, &status) != 0 || status >= capture_active)) {
        return false;
    }
    return as<int(Stream, void (*)(void*), void*)>(call_)(stream, call, argument) == 0;
}

}  // namespace deadrank::inject::shims
