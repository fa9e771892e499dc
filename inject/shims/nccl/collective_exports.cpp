// inject/shims/nccl/collective_exports.cpp — NCCL's eleven ways to move data, as the program calls them.
#include "inject/shims/nccl/plain.h"

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
