// inject/shims/nccl/communicator_exports.cpp — Making, asking and ending communicators; groups; the version.
#include "inject/shims/nccl/plain.h"

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
