// inject/standin/nccl/standin_collectives.cpp — NCCL's exported functions.

#include <chrono>
#include <cstring>
#include <thread>

#include "inject/shims/core/session.h"
#include "inject/standin/device/standin_memory.h"
#include "inject/standin/exchange/arithmetic.h"
#include "inject/standin/nccl/group.h"
#include "inject/standin/nccl/standin_communicator.h"
#include "inject/standin/nccl/standin_faults.h"
#include "inject/standin/nccl/standin_job.h"

// The calls that move data: arguments are checked as NCCL checks them, then the plan may alter the call, then
// it goes into its stream. The names without p are made by the build.
using namespace deadrank::inject::standin;
using deadrank::results::Op;

namespace {

struct Request {
    const char* function;
    Op op;
    const void* send;
    void* receive;
    std::size_t count;
    ncclDataType_t type;
    ncclRedOp_t reduction;
    int peer;
    ncclComm_t comm;
    cudaStream_t stream;
};

bool has_peer(Op op) {
    return op == Op::broadcast || op == Op::reduce || op == Op::gather || op == Op::scatter ||
           op == Op::send || op == Op::recv;
}

ncclResult_t check(const Request& request) {
    if (const ncclResult_t usable = check_usable(request.comm, request.function); usable != ncclSuccess)
        return usable;
    if (request.type < 0 || request.type >= ncclNumTypes) {
        warn("{} : invalid type {}", request.function, static_cast<int>(request.type));
        return ncclInvalidArgument;
    }
    const auto own = static_cast<std::size_t>(ncclNumOps) + request.comm->scaled_sums.size();
    if (request.reduction < 0 || static_cast<std::size_t>(request.reduction) >= own) {
        warn("{} : invalid reduction operation {}", request.function, static_cast<int>(request.reduction));
        return ncclInvalidArgument;
    }
    if (has_peer(request.op) && (request.peer < 0 || request.peer >= request.comm->size)) {
        warn("{} : invalid root {} (root should be in the 0..{} range)", request.function, request.peer,
             request.comm->size);
        return ncclInvalidArgument;
    }
    return ncclSuccess;
}

ncclResult_t take_reduction(const Request& request, Planned& planned) {
    if (request.reduction < ncclNumOps) {
        planned.call.reduction = static_cast<Reduction>(request.reduction);
        return ncclSuccess;
    }
    const ScaledSum& own =
        request.comm->scaled_sums[static_cast<std::size_t>(request.reduction - ncclNumOps)];
    if (own.destroyed || own.type != request.type) {
        warn("{} : reduction operation {} was made for another type, or destroyed", request.function,
             static_cast<int>(request.reduction));
        return ncclInvalidArgument;
    }
    planned.call.reduction = Reduction::scaled_sum;
    planned.call.scale = own.scale;
    planned.scale_at = own.at;
    return ncclSuccess;
}

ncclResult_t issue(const Request& request) {
    Group& group = Group::of_this_thread();
    if (const ncclResult_t bad = check(request); bad != ncclSuccess) return group.fail(bad);
    Planned planned;
    planned.comm = request.comm;
    planned.call.op = request.op;
    planned.call.count = request.count;
    planned.call.element = static_cast<Element>(request.type);
    planned.call.peer = has_peer(request.op) ? request.peer : -1;
    planned.send = request.send;
    planned.receive = request.receive;
    planned.stream = request.stream;
    if (const ncclResult_t bad = take_reduction(request, planned); bad != ncclSuccess) return group.fail(bad);

    const deadrank::inject::Alteration alteration =
        apply_fault(deadrank::results::name_of(request.op), *request.comm);
    deadrank::inject::shims::sleep_for(alteration.delay.count());
    if (alteration.skip) return ncclSuccess;
    const ncclResult_t answer = alter(planned, alteration);
    if (answer != ncclSuccess) return group.fail(answer);
    return issue_in_order(std::move(planned), alteration.hold);
}

}  // namespace

extern "C" {

ncclResult_t pncclAllReduce(const void* send, void* receive, size_t count, ncclDataType_t type,
                            ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    return issue({"AllReduce", Op::all_reduce, send, receive, count, type, op, -1, comm, stream});
}
ncclResult_t pncclBroadcast(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                            ncclComm_t comm, cudaStream_t stream) {
    return issue({"Broadcast", Op::broadcast, send, receive, count, type, ncclSum, root, comm, stream});
}
ncclResult_t pncclBcast(void* buffer, size_t count, ncclDataType_t type, int root, ncclComm_t comm,
                        cudaStream_t stream) {
    return pncclBroadcast(buffer, buffer, count, type, root, comm, stream);
}
ncclResult_t pncclReduce(const void* send, void* receive, size_t count, ncclDataType_t type, ncclRedOp_t op,
                         int root, ncclComm_t comm, cudaStream_t stream) {
    return issue({"Reduce", Op::reduce, send, receive, count, type, op, root, comm, stream});
}
ncclResult_t pncclAllGather(const void* send, void* receive, size_t count, ncclDataType_t type,
                            ncclComm_t comm, cudaStream_t stream) {
    return issue({"AllGather", Op::all_gather, send, receive, count, type, ncclSum, -1, comm, stream});
}
ncclResult_t pncclReduceScatter(const void* send, void* receive, size_t count, ncclDataType_t type,
                                ncclRedOp_t op, ncclComm_t comm, cudaStream_t stream) {
    return issue({"ReduceScatter", Op::reduce_scatter, send, receive, count, type, op, -1, comm, stream});
}
ncclResult_t pncclAlltoAll(const void* send, void* receive, size_t count, ncclDataType_t type,
                           ncclComm_t comm, cudaStream_t stream) {
    return issue({"AlltoAll", Op::all_to_all, send, receive, count, type, ncclSum, -1, comm, stream});
}
ncclResult_t pncclGather(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                         ncclComm_t comm, cudaStream_t stream) {
    return issue({"Gather", Op::gather, send, receive, count, type, ncclSum, root, comm, stream});
}
ncclResult_t pncclScatter(const void* send, void* receive, size_t count, ncclDataType_t type, int root,
                          ncclComm_t comm, cudaStream_t stream) {
    return issue({"Scatter", Op::scatter, send, receive, count, type, ncclSum, root, comm, stream});
}
ncclResult_t pncclSend(const void* send, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                       cudaStream_t stream) {
    return issue({"Send", Op::send, send, nullptr, count, type, ncclSum, peer, comm, stream});
}
ncclResult_t pncclRecv(void* receive, size_t count, ncclDataType_t type, int peer, ncclComm_t comm,
                       cudaStream_t stream) {
    return issue({"Recv", Op::recv, nullptr, receive, count, type, ncclSum, peer, comm, stream});
}
}

// What belongs to no communicator, and the reductions that a communicator is given.
using namespace deadrank::inject::standin;

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

// Every rank can reach all memory anyway.
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
