// inject/shims/nccl/nccl_exports.cpp — The functions that a program calls instead of NCCL's own.
#include "inject/shims/nccl/nccl_exports.h"

// NCCL's eleven ways to move data, as the program calls them.
#pragma GCC visibility push(default)
extern "C" {

using namespace deadrank::inject::shims;

int ncclAllReduce(const void* send, void* receive, std::size_t count, int dtype, int reduce, CommHandle comm,
                  Stream stream) {
    if (!watching()) return straight(Function::all_reduce, send, receive, count, dtype, reduce, comm, stream);
    return collective({Function::all_reduce, send, receive, count, dtype, reduce, -1, comm, stream});
}
int ncclReduceScatter(const void* send, void* receive, std::size_t count, int dtype, int reduce,
                      CommHandle comm, Stream stream) {
    if (!watching())
        return straight(Function::reduce_scatter, send, receive, count, dtype, reduce, comm, stream);
    return collective({Function::reduce_scatter, send, receive, count, dtype, reduce, -1, comm, stream});
}
int ncclReduce(const void* send, void* receive, std::size_t count, int dtype, int reduce, int root,
               CommHandle comm, Stream stream) {
    if (!watching())
        return straight(Function::reduce, send, receive, count, dtype, reduce, root, comm, stream);
    return collective({Function::reduce, send, receive, count, dtype, reduce, root, comm, stream});
}
int ncclBroadcast(const void* send, void* receive, std::size_t count, int dtype, int root, CommHandle comm,
                  Stream stream) {
    if (!watching()) return straight(Function::broadcast, send, receive, count, dtype, root, comm, stream);
    return collective({Function::broadcast, send, receive, count, dtype, 0, root, comm, stream});
}
int ncclBcast(void* buffer, std::size_t count, int dtype, int root, CommHandle comm, Stream stream) {
    if (!watching()) return straight(Function::bcast, buffer, count, dtype, root, comm, stream);
    return collective({Function::bcast, nullptr, buffer, count, dtype, 0, root, comm, stream});
}
int ncclAllGather(const void* send, void* receive, std::size_t count, int dtype, CommHandle comm,
                  Stream stream) {
    if (!watching()) return straight(Function::all_gather, send, receive, count, dtype, comm, stream);
    return collective({Function::all_gather, send, receive, count, dtype, 0, -1, comm, stream});
}
int ncclAlltoAll(const void* send, void* receive, std::size_t count, int dtype, CommHandle comm,
                 Stream stream) {
    if (!watching()) return straight(Function::all_to_all, send, receive, count, dtype, comm, stream);
    return collective({Function::all_to_all, send, receive, count, dtype, 0, -1, comm, stream});
}
int ncclGather(const void* send, void* receive, std::size_t count, int dtype, int root, CommHandle comm,
               Stream stream) {
    if (!watching()) return straight(Function::gather, send, receive, count, dtype, root, comm, stream);
    return collective({Function::gather, send, receive, count, dtype, 0, root, comm, stream});
}
int ncclScatter(const void* send, void* receive, std::size_t count, int dtype, int root, CommHandle comm,
                Stream stream) {
    if (!watching()) return straight(Function::scatter, send, receive, count, dtype, root, comm, stream);
    return collective({Function::scatter, send, receive, count, dtype, 0, root, comm, stream});
}
int ncclSend(const void* send, std::size_t count, int dtype, int peer, CommHandle comm, Stream stream) {
    if (!watching()) return straight(Function::send, send, count, dtype, peer, comm, stream);
    return collective({Function::send, send, nullptr, count, dtype, 0, peer, comm, stream});
}
int ncclRecv(void* receive, std::size_t count, int dtype, int peer, CommHandle comm, Stream stream) {
    if (!watching()) return straight(Function::recv, receive, count, dtype, peer, comm, stream);
    return collective({Function::recv, nullptr, receive, count, dtype, 0, peer, comm, stream});
}

}  // extern "C"
#pragma GCC visibility pop

// Making, asking and ending communicators; groups; the version.
#pragma GCC visibility push(default)
extern "C" {

using namespace deadrank::inject::shims;

int ncclGetVersion(int* version) {
    const int code = passed(Function::get_version, nullptr, version);
    // From inside NCCL, too: that is how a rank tells its peers which version it is.
    const int other = code == nccl_success && version && awake() ? Interposer::here().version() : 0;
    if (other > 0) *version = other;
    return code;
}

int ncclCommInitRankConfig(CommHandle* made, int ranks, UniqueId id, int rank, Config* config) {
    constexpr Function which = Function::comm_init_rank_config;
    auto* function = real<int(CommHandle*, int, UniqueId, int, Config*)>(which);
    if (!function) return missing(which);
    if (!awake() || Inside::now()) return function(made, ranks, id, rank, config);
    return Interposer::here().open(made, ranks, rank, config, [&](int size, int mine) {
        return function(made, size, id, mine, config);
    });
}

int ncclCommInitRank(CommHandle* made, int ranks, UniqueId id, int rank) {
    constexpr Function which = Function::comm_init_rank;
    auto* function = real<int(CommHandle*, int, UniqueId, int)>(which);
    if (!function) return missing(which);
    if (!awake() || Inside::now()) return function(made, ranks, id, rank);
    return Interposer::here().open(made, ranks, rank, nullptr,
                                   [&](int size, int mine) { return function(made, size, id, mine); });
}

int ncclCommInitRankScalable(CommHandle* made, int ranks, int rank, int id_count, UniqueId* ids,
                             Config* config) {
    constexpr Function which = Function::comm_init_rank_scalable;
    auto* function = real<int(CommHandle*, int, int, int, UniqueId*, Config*)>(which);
    if (!function) return missing(which);
    if (!awake() || Inside::now()) return function(made, ranks, rank, id_count, ids, config);
    return Interposer::here().open(made, ranks, rank, config, [&](int size, int mine) {
        return function(made, size, mine, id_count, ids, config);
    });
}

// One process, many devices: each of its communicators is met at its first call.
int ncclCommInitAll(CommHandle* made, int count, const int* devices) {
    return passed(Function::comm_init_all, nullptr, made, count, devices);
}

int ncclCommSplit(CommHandle comm, int color, int key, CommHandle* made, Config* config) {
    constexpr Function which = Function::comm_split;
    auto* function = real<int(CommHandle, int, int, CommHandle*, Config*)>(which);
    if (!function) return missing(which);
    if (!awake() || Inside::now()) return function(comm, color, key, made, config);
    return Interposer::here().derive(comm, made, config,
                                     [&] { return function(comm, color, key, made, config); });
}

int ncclCommShrink(CommHandle comm, int* left_out, int count, CommHandle* made, Config* config, int flags) {
    constexpr Function which = Function::comm_shrink;
    auto* function = real<int(CommHandle, int*, int, CommHandle*, Config*, int)>(which);
    if (!function) return missing(which);
    if (!awake() || Inside::now()) return function(comm, left_out, count, made, config, flags);
    return Interposer::here().derive(comm, made, config,
                                     [&] { return function(comm, left_out, count, made, config, flags); });
}

int ncclCommFinalize(CommHandle comm) {
    if (awake() && !Inside::now() && comm) Interposer::here().gone(comm);
    return passed(Function::comm_finalize, comm, comm);
}

int ncclCommDestroy(CommHandle comm) {
    const bool seen = awake() && !Inside::now() && comm;
    if (seen) Interposer::here().gone(comm);
    const int code = passed(Function::comm_destroy, comm, comm);
    if (seen) Interposer::here().forget(comm);
    return code;
}

int ncclCommAbort(CommHandle comm) {
    const bool seen = awake() && !Inside::now() && comm;
    if (seen) Interposer::here().aborted(comm);
    const int code = passed(Function::comm_abort, comm, comm);
    if (seen) Interposer::here().forget(comm);
    return code;
}

int ncclCommRevoke(CommHandle comm, int flags) { return passed(Function::comm_revoke, comm, comm, flags); }

int ncclCommGetAsyncError(CommHandle comm, int* error) {
    const int code = passed(Function::comm_get_async_error, comm, comm, error);
    return awake() && !Inside::now() ? Interposer::here().polled(comm, code, error) : code;
}

int ncclCommCount(CommHandle comm, int* count) { return passed(Function::comm_count, comm, comm, count); }
int ncclCommCuDevice(CommHandle comm, int* device) {
    return passed(Function::comm_cu_device, comm, comm, device);
}
int ncclCommUserRank(CommHandle comm, int* rank) {
    return passed(Function::comm_user_rank, comm, comm, rank);
}

int ncclGroupStart() {
    const int code = passed(Function::group_start, nullptr);
    if (awake() && !Inside::now() && code == nccl_success) ++Group::of_thread().depth;
    return code;
}
int ncclGroupEnd() {
    const int code = passed(Function::group_end, nullptr);
    if (awake() && !Inside::now()) Group::of_thread().ended(code);
    return code;
}
int ncclGroupSimulateEnd(void* information) {
    const int code = passed(Function::group_simulate_end, nullptr, information);
    if (awake() && !Inside::now()) Group::of_thread().ended(code);
    return code;
}

}  // extern "C"
#pragma GCC visibility pop

// What neither moves data nor makes communicators: passed on at its moment.
#pragma GCC visibility push(default)
extern "C" {

using namespace deadrank::inject::shims;

// How the profiler plugin sees that it is not alone.
extern const int deadrank_nccl_interposer;
const int deadrank_nccl_interposer = 1;

int ncclGetUniqueId(UniqueId* id) { return passed(Function::get_unique_id, nullptr, id); }
int ncclMemAlloc(void** made, std::size_t bytes) { return passed(Function::mem_alloc, nullptr, made, bytes); }
int ncclMemFree(void* memory) { return passed(Function::mem_free, nullptr, memory); }

int ncclCommRegister(CommHandle comm, void* buffer, std::size_t bytes, void** handle) {
    return passed(Function::comm_register, comm, comm, buffer, bytes, handle);
}
int ncclCommDeregister(CommHandle comm, void* handle) {
    return passed(Function::comm_deregister, comm, comm, handle);
}
int ncclCommWindowRegister(CommHandle comm, void* buffer, std::size_t bytes, void** window, int flags) {
    return passed(Function::comm_window_register, comm, comm, buffer, bytes, window, flags);
}
int ncclCommWindowDeregister(CommHandle comm, void* window) {
    return passed(Function::comm_window_deregister, comm, comm, window);
}

int ncclRedOpCreatePreMulSum(int* made, void* scalar, int dtype, int residence, CommHandle comm) {
    return passed(Function::red_op_create_pre_mul_sum, comm, made, scalar, dtype, residence, comm);
}
int ncclRedOpDestroy(int reduce, CommHandle comm) {
    return passed(Function::red_op_destroy, comm, reduce, comm);
}

const char* ncclGetErrorString(int code) { return untouched<const char*>(Function::get_error_string, code); }
const char* ncclGetLastError(CommHandle comm) {
    return untouched<const char*>(Function::get_last_error, comm);
}
void ncclResetDebugInit() {
    if (auto* function = real<void()>(Function::reset_debug_init)) function();
}

// The interface for kernels that communicate by themselves, from 2.28.
int ncclDevCommCreate(CommHandle comm, const void* wanted, void* made) {
    return passed(Function::dev_comm_create, comm, comm, wanted, made);
}
int ncclDevCommDestroy(CommHandle comm, const void* made) {
    return passed(Function::dev_comm_destroy, comm, comm, made);
}
Team ncclTeamWorld(CommHandle comm) { return untouched<Team>(Function::team_world, comm); }
Team ncclTeamLsa(CommHandle comm) { return untouched<Team>(Function::team_lsa, comm); }
Team ncclTeamRail(CommHandle comm) { return untouched<Team>(Function::team_rail, comm); }
int ncclTeamRankToWorld(CommHandle comm, Team team, int rank) {
    return untouched<int>(Function::team_rank_to_world, comm, team, rank);
}
int ncclTeamRankToLsa(CommHandle comm, Team team, int rank) {
    return untouched<int>(Function::team_rank_to_lsa, comm, team, rank);
}
int ncclLLA2ACalcSlots(int elements, int bytes) {
    return untouched<int>(Function::ll_a2a_calc_slots, elements, bytes);
}
int ncclLLA2ACreateRequirement(int blocks, int slots, void* handle, void* wanted) {
    return passed(Function::ll_a2a_create_requirement, nullptr, blocks, slots, handle, wanted);
}
int ncclLsaBarrierCreateRequirement(Team team, int barriers, void* handle, void* wanted) {
    return passed(Function::lsa_barrier_create_requirement, nullptr, team, barriers, handle, wanted);
}
int ncclGinBarrierCreateRequirement(CommHandle comm, Team team, int barriers, void* handle, void* wanted) {
    return passed(Function::gin_barrier_create_requirement, comm, comm, team, barriers, handle, wanted);
}

}  // extern "C"
#pragma GCC visibility pop
