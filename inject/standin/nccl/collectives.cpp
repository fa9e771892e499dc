// inject/standin/nccl/collectives.cpp — The calls that move data: arguments are checked as NCCL checks them,
// then the plan may alter the call, then it goes into its stream. The names without p are made by the build.
#include <chrono>
#include <thread>

#include "inject/standin/exchange/arithmetic.h"
#include "inject/standin/nccl/alter.h"
#include "inject/standin/nccl/faults.h"
#include "inject/standin/nccl/group.h"
#include "inject/standin/nccl/log.h"

using namespace deadrank::standin;
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

    Alteration alteration;
    Faults::of_this_process().at(std::string(deadrank::results::name_of(request.op)), *request.comm,
                                 alteration);
    std::this_thread::sleep_for(std::chrono::nanoseconds(alteration.delay));
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
