// inject/shims/mpi/collective_exports.cpp — MPI's collectives, as the program calls them.
#include <numeric>

#include "inject/shims/mpi/interposer.h"
#include "inject/shims/mpi/memory.h"

#pragma GCC visibility push(default)
extern "C" {

using namespace deadrank::inject::shims;

int MPI_Barrier(MPI_Comm comm) {
    constexpr Function which = Function::barrier;
    if (!watching()) return real<decltype(PMPI_Barrier)>(which)(comm);
    return Interposer::here().move({.which = which, .comm = comm});
}
int MPI_Ibarrier(MPI_Comm comm, MPI_Request* request) {
    constexpr Function which = Function::ibarrier;
    if (!watching()) return real<decltype(PMPI_Ibarrier)>(which)(comm, request);
    return Interposer::here().move({.which = which, .comm = comm, .request = request});
}
int MPI_Bcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm) {
    constexpr Function which = Function::broadcast;
    if (!watching()) return real<decltype(PMPI_Bcast)>(which)(data, count, type, root, comm);
    return Interposer::here().move(
        {.which = which, .receive = {data, count, type}, .root = root, .comm = comm});
}
int MPI_Ibcast(void* data, int count, MPI_Datatype type, int root, MPI_Comm comm, MPI_Request* request) {
    constexpr Function which = Function::ibroadcast;
    if (!watching()) return real<decltype(PMPI_Ibcast)>(which)(data, count, type, root, comm, request);
    return Interposer::here().move(
        {.which = which, .receive = {data, count, type}, .root = root, .comm = comm, .request = request});
}
int MPI_Reduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op reduce, int root,
               MPI_Comm comm) {
    constexpr Function which = Function::reduce;
    if (!watching())
        return real<decltype(PMPI_Reduce)>(which)(send, receive, count, type, reduce, root, comm);
    return Interposer::here().move({.which = which,
                                    .send = {const_cast<void*>(send), count, type},
                                    .receive = {receive, count, type},
                                    .reduce = reduce,
                                    .root = root,
                                    .comm = comm});
}
int MPI_Allreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op reduce,
                  MPI_Comm comm) {
    constexpr Function which = Function::all_reduce;
    if (!watching()) return real<decltype(PMPI_Allreduce)>(which)(send, receive, count, type, reduce, comm);
    return Interposer::here().move({.which = which,
                                    .send = {const_cast<void*>(send), count, type},
                                    .receive = {receive, count, type},
                                    .reduce = reduce,
                                    .comm = comm});
}
int MPI_Iallreduce(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op reduce,
                   MPI_Comm comm, MPI_Request* request) {
    constexpr Function which = Function::iall_reduce;
    if (!watching())
        return real<decltype(PMPI_Iallreduce)>(which)(send, receive, count, type, reduce, comm, request);
    return Interposer::here().move({.which = which,
                                    .send = {const_cast<void*>(send), count, type},
                                    .receive = {receive, count, type},
                                    .reduce = reduce,
                                    .comm = comm,
                                    .request = request});
}
int MPI_Reduce_scatter(const void* send, void* receive, const int* counts, MPI_Datatype type, MPI_Op reduce,
                       MPI_Comm comm) {
    constexpr Function which = Function::reduce_scatter;
    if (!watching())
        return real<decltype(PMPI_Reduce_scatter)>(which)(send, receive, counts, type, reduce, comm);
    const Seat seat = seat_in(comm);
    const std::vector<int> all(counts, counts + seat.ranks);
    return Interposer::here().move(
        {.which = which,
         .send = {const_cast<void*>(send), std::accumulate(all.begin(), all.end(), 0), type},
         .receive = {receive, all[static_cast<std::size_t>(seat.me)], type},
         .reduce = reduce,
         .comm = comm,
         .counts = all});
}
int MPI_Reduce_scatter_block(const void* send, void* receive, int count, MPI_Datatype type, MPI_Op reduce,
                             MPI_Comm comm) {
    constexpr Function which = Function::reduce_scatter_block;
    if (!watching())
        return real<decltype(PMPI_Reduce_scatter_block)>(which)(send, receive, count, type, reduce, comm);
    return Interposer::here().move({.which = which,
                                    .send = {const_cast<void*>(send), count, type},
                                    .receive = {receive, count, type},
                                    .reduce = reduce,
                                    .comm = comm});
}
int MPI_Allgather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int count,
                  MPI_Datatype type, MPI_Comm comm) {
    constexpr Function which = Function::all_gather;
    if (!watching())
        return real<decltype(PMPI_Allgather)>(which)(send, send_count, send_type, receive, count, type, comm);
    return Interposer::here().move({.which = which,
                                    .send = {const_cast<void*>(send), send_count, send_type},
                                    .receive = {receive, count, type},
                                    .comm = comm});
}
int MPI_Alltoall(const void* send, int send_count, MPI_Datatype send_type, void* receive, int count,
                 MPI_Datatype type, MPI_Comm comm) {
    constexpr Function which = Function::all_to_all;
    if (!watching())
        return real<decltype(PMPI_Alltoall)>(which)(send, send_count, send_type, receive, count, type, comm);
    return Interposer::here().move({.which = which,
                                    .send = {const_cast<void*>(send), send_count, send_type},
                                    .receive = {receive, count, type},
                                    .comm = comm});
}
int MPI_Gather(const void* send, int send_count, MPI_Datatype send_type, void* receive, int count,
               MPI_Datatype type, int root, MPI_Comm comm) {
    constexpr Function which = Function::gather;
    if (!watching())
        return real<decltype(PMPI_Gather)>(which)(send, send_count, send_type, receive, count, type, root,
                                                  comm);
    return Interposer::here().move({.which = which,
                                    .send = {const_cast<void*>(send), send_count, send_type},
                                    .receive = {receive, count, type},
                                    .root = root,
                                    .comm = comm});
}
int MPI_Scatter(const void* send, int send_count, MPI_Datatype send_type, void* receive, int count,
                MPI_Datatype type, int root, MPI_Comm comm) {
    constexpr Function which = Function::scatter;
    if (!watching())
        return real<decltype(PMPI_Scatter)>(which)(send, send_count, send_type, receive, count, type, root,
                                                   comm);
    return Interposer::here().move({.which = which,
                                    .send = {const_cast<void*>(send), send_count, send_type},
                                    .receive = {receive, count, type},
                                    .root = root,
                                    .comm = comm});
}

}  // extern "C"
#pragma GCC visibility pop
