// inject/standin/nccl/ending.cpp — Communicators are asked, finalized, destroyed and aborted.
#include <chrono>
#include <thread>

#include "inject/standin/device/devices.h"
#include "inject/standin/nccl/communicator.h"
#include "inject/standin/nccl/faults.h"
#include "inject/standin/nccl/log.h"

using namespace deadrank::standin;

namespace {

// Work that never completes is waited for forever, unless somebody aborts: NCCL has no time-out either.
ncclResult_t finalize(ncclComm_t comm) {
    while (comm->outstanding > 0 && !comm->member.aborted())
        std::this_thread::sleep_for(std::chrono::milliseconds(1));
    comm->member.leave();
    Stage expected = Stage::finalizing;
    comm->stage.compare_exchange_strong(expected, Stage::finalized);
    return ncclSuccess;
}

ncclResult_t suffer(const char* call, const ncclComm& comm) {
    return Faults::of_this_process().around(call, comm);
}

ncclResult_t check_alive(ncclComm_t comm, const char* function) {
    if (!comm) {
        warn("{} : comm argument is NULL", function);
        return ncclInvalidArgument;
    }
    if (comm->stage == Stage::destroyed || comm->stage == Stage::aborted) {
        warn("comm {} has already been destroyed", static_cast<void*>(comm));
        return ncclInvalidArgument;
    }
    return ncclSuccess;
}

ncclResult_t tell(const ncclComm* comm, int* into, int value, const char* function) {
    if (!comm || !into) {
        warn("{} : argument is NULL", function);
        return ncclInvalidArgument;
    }
    *into = value;
    return ncclSuccess;
}

}  // namespace

extern "C" {

ncclResult_t pncclCommFinalize(ncclComm_t comm) {
    if (const ncclResult_t bad = check_usable(comm, "CommFinalize"); bad != ncclSuccess) return bad;
    if (const ncclResult_t bad = suffer("comm_finalize", *comm); bad != ncclSuccess) return bad;
    comm->stage = Stage::finalizing;
    return run_or_defer(comm, [comm] { return finalize(comm); });
}

ncclResult_t pncclCommDestroy(ncclComm_t comm) {
    if (!comm) return ncclSuccess;
    if (const ncclResult_t bad = check_alive(comm, "CommDestroy"); bad != ncclSuccess) return bad;
    if (const ncclResult_t bad = suffer("comm_destroy", *comm); bad != ncclSuccess) return bad;
    if (comm->stage == Stage::open) {
        comm->stage = Stage::finalizing;
        finalize(comm);
    }
    while (comm->stage == Stage::finalizing) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    comm->stage = Stage::destroyed;
    return ncclSuccess;
}

ncclResult_t pncclCommAbort(ncclComm_t comm) {
    if (!comm) return ncclSuccess;
    if (const ncclResult_t bad = check_alive(comm, "CommAbort"); bad != ncclSuccess) return bad;
    if (const ncclResult_t bad = suffer("comm_abort", *comm); bad != ncclSuccess) return bad;
    comm->stage = Stage::aborted;
    comm->member.abort();
    const std::lock_guard nobody_reads(comm->reading);
    return ncclSuccess;
}

ncclResult_t pncclCommGetAsyncError(ncclComm_t comm, ncclResult_t* code) {
    if (!comm || !code) {
        warn("CommGetAsyncError : argument is NULL");
        return ncclInvalidArgument;
    }
    if (const ncclResult_t bad = suffer("comm_get_async_error", *comm); bad != ncclSuccess) return bad;
    *code = asynchronous_error(comm);
    return ncclSuccess;
}

ncclResult_t pncclCommCount(const ncclComm_t comm, int* count) {
    return tell(comm, count, comm ? comm->size : 0, "CommCount");
}
ncclResult_t pncclCommCuDevice(const ncclComm_t comm, int* device) {
    return tell(comm, device, comm ? comm->device : 0, "CommCuDevice");
}
ncclResult_t pncclCommUserRank(const ncclComm_t comm, int* rank) {
    return tell(comm, rank, comm ? comm->rank : 0, "CommUserRank");
}
}
