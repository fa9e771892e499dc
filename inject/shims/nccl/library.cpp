// inject/shims/nccl/library.cpp — A function is looked for until it is found, since NCCL may be loaded after
// us.
#include "inject/shims/nccl/library.h"

#include <cstdio>
#include <dlfcn.h>

#include "inject/shims/nccl/abi.h"

namespace deadrank::inject::shims {

namespace {

struct Name {
    const char* symbol;
    const char* moment;
};

constexpr std::array<Name, function_count> names = {{
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

// Out of sight, yet loaded. NOLOAD: we never bring an NCCL of our own.
void* in_hidden_library(const char* symbol) {
    void* library = ::dlopen("libnccl.so.2", RTLD_LAZY | RTLD_NOLOAD);
    return library ? ::dlsym(library, symbol) : nullptr;
}

}  // namespace

const char* symbol_of(Function which) { return names[static_cast<std::size_t>(which)].symbol; }
const char* moment_of(Function which) { return names[static_cast<std::size_t>(which)].moment; }

void* search(Function which) {
    void* const known = ::dlsym(RTLD_NEXT, symbol_of(which));
    return known ? known : in_hidden_library(symbol_of(which));
}

int missing(Function which) {
    static std::array<std::atomic<bool>, function_count> said{};
    if (!said[static_cast<std::size_t>(which)].exchange(true)) {
        std::fprintf(stderr, "deadrank: the NCCL of this program has no %s\n", symbol_of(which));
    }
    return nccl_system_error;
}

}  // namespace deadrank::inject::shims
