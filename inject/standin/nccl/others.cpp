// inject/standin/nccl/others.cpp — What belongs to no communicator, and the reductions that a communicator is
// given.
#include <cstring>

#include "inject/standin/device/devices.h"
#include "inject/standin/exchange/arithmetic.h"
#include "inject/standin/nccl/communicator.h"
#include "inject/standin/nccl/group.h"
#include "inject/standin/nccl/log.h"

using namespace deadrank::standin;

extern "C" {

// Every name of NCCL's that no file here defines leads to this: nccl/names.txt.
ncclResult_t deadrank_standin_refuses(const char* name) {
    warn("{} is not supported without a GPU: the stand-in has no windows, device communicators or revocation",
         name);
    return ncclInvalidUsage;
}

ncclResult_t pncclGetVersion(int* version) {
    if (!version) return ncclInvalidArgument;
    *version = NCCL_VERSION_CODE;
    return ncclSuccess;
}

const char* pncclGetErrorString(ncclResult_t code) {
    switch (code) {
        case ncclSuccess:
            return "no error";
        case ncclUnhandledCudaError:
            return "unhandled cuda error (run with NCCL_DEBUG=INFO for details)";
        case ncclSystemError:
            return "unhandled system error (run with NCCL_DEBUG=INFO for details)";
        case ncclInternalError:
            return "internal error - please report this issue to the NCCL developers";
        case ncclInvalidArgument:
            return "invalid argument (run with NCCL_DEBUG=WARN for details)";
        case ncclInvalidUsage:
            return "invalid usage (run with NCCL_DEBUG=WARN for details)";
        case ncclRemoteError:
            return "remote process exited or there was a network error";
        case ncclInProgress:
            return "NCCL operation in progress";
        default:
            return "unknown result code";
    }
}

const char* pncclGetLastError(ncclComm_t) { return last_warning(); }
void pncclResetDebugInit() {}
void ncclResetDebugInitInternal() {}

ncclResult_t pncclGroupStart() {
    Group::of_this_thread().start();
    return ncclSuccess;
}
ncclResult_t pncclGroupEnd() { return Group::of_this_thread().end(); }

ncclResult_t pncclGroupSimulateEnd(ncclSimInfo_t* info) {
    if (info) info->estimatedTime = 0;
    return Group::of_this_thread().end();
}

ncclResult_t pncclMemAlloc(void** into, size_t size) {
    Devices& devices = Devices::of_this_process();
    if (!into) return ncclInvalidArgument;
    *into = devices.memory.take(size, Where::device, devices.current());
    return *into ? ncclSuccess : ncclUnhandledCudaError;
}
ncclResult_t pncclMemFree(void* at) {
    return !at || Devices::of_this_process().memory.give_back(at) ? ncclSuccess : ncclInvalidArgument;
}

// All memory can be reached by everybody anyway.
ncclResult_t pncclCommRegister(const ncclComm_t comm, void* buffer, size_t, void** handle) {
    if (!comm || !handle) return ncclInvalidArgument;
    *handle = buffer;
    return ncclSuccess;
}
ncclResult_t pncclCommDeregister(const ncclComm_t comm, void*) {
    return comm ? ncclSuccess : ncclInvalidArgument;
}

ncclResult_t pncclRedOpCreatePreMulSum(ncclRedOp_t* op, void* scalar, ncclDataType_t type,
                                       ncclScalarResidence_t residence, ncclComm_t comm) {
    if (const ncclResult_t bad = check_usable(comm, "RedOpCreatePreMulSum"); bad != ncclSuccess) return bad;
    if (!op || !scalar || type < 0 || type >= ncclNumTypes) {
        warn("RedOpCreatePreMulSum : op and scalar must not be NULL, type {} must exist",
             static_cast<int>(type));
        return ncclInvalidArgument;
    }
    ScaledSum made;
    made.type = type;
    if (residence == ncclScalarDevice)
        made.at = scalar;
    else
        std::memcpy(&made.scale, scalar, size_of(static_cast<Element>(type)));
    *op = static_cast<ncclRedOp_t>(static_cast<int>(ncclNumOps) + static_cast<int>(comm->scaled_sums.size()));
    comm->scaled_sums.push_back(made);
    return ncclSuccess;
}

ncclResult_t pncclRedOpDestroy(ncclRedOp_t op, ncclComm_t comm) {
    const int place = static_cast<int>(op) - static_cast<int>(ncclNumOps);
    if (!comm || place < 0 || place >= static_cast<int>(comm->scaled_sums.size())) {
        warn("RedOpDestroy : operation {} is none that was created", static_cast<int>(op));
        return ncclInvalidArgument;
    }
    comm->scaled_sums[static_cast<std::size_t>(place)].destroyed = true;
    return ncclSuccess;
}
}
