// inject/shims/mpi/mpi_exports.cpp — The functions that a program calls instead of Open MPI's own.

#include <numeric>

#include "inject/shims/mpi/mpi_call.h"
#include "inject/shims/mpi/mpi_interposer.h"

// MPI's collectives, as the program calls them.
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

// The beginning, the end, and communicators, as the program calls them.
#pragma GCC visibility push(default)
extern "C" {

using namespace deadrank::inject::shims;

int MPI_Init(int* count, char*** words) {
    constexpr Function which = Function::init;
    const auto call = [&] { return real<decltype(PMPI_Init)>(which)(count, words); };
    return watching() ? Interposer::here().begin(which, call) : call();
}
int MPI_Init_thread(int* count, char*** words, int required, int* provided) {
    constexpr Function which = Function::init_thread;
    const auto call = [&] {
        return real<decltype(PMPI_Init_thread)>(which)(count, words, required, provided);
    };
    return watching() ? Interposer::here().begin(which, call) : call();
}
int MPI_Finalize() {
    const auto call = [&] { return real<decltype(PMPI_Finalize)>(Function::finalize)(); };
    return watching() ? Interposer::here().end(call) : call();
}
int MPI_Abort(MPI_Comm comm, int code) {
    const auto call = [&] { return real<decltype(PMPI_Abort)>(Function::abort)(comm, code); };
    return watching() ? Interposer::here().abort(comm, call) : call();
}

int MPI_Comm_dup(MPI_Comm comm, MPI_Comm* made) {
    constexpr Function which = Function::comm_dup;
    const auto call = [&] { return real<decltype(PMPI_Comm_dup)>(which)(comm, made); };
    return watching() ? Interposer::here().derive(which, comm, made, true, call) : call();
}
int MPI_Comm_split(MPI_Comm comm, int color, int key, MPI_Comm* made) {
    constexpr Function which = Function::comm_split;
    const auto call = [&] { return real<decltype(PMPI_Comm_split)>(which)(comm, color, key, made); };
    return watching() ? Interposer::here().derive(which, comm, made, false, call) : call();
}
int MPI_Comm_split_type(MPI_Comm comm, int kind, int key, MPI_Info information, MPI_Comm* made) {
    constexpr Function which = Function::comm_split_type;
    const auto call = [&] {
        return real<decltype(PMPI_Comm_split_type)>(which)(comm, kind, key, information, made);
    };
    return watching() ? Interposer::here().derive(which, comm, made, false, call) : call();
}
int MPI_Comm_create(MPI_Comm comm, MPI_Group group, MPI_Comm* made) {
    constexpr Function which = Function::comm_create;
    const auto call = [&] { return real<decltype(PMPI_Comm_create)>(which)(comm, group, made); };
    return watching() ? Interposer::here().derive(which, comm, made, false, call) : call();
}
int MPI_Cart_create(MPI_Comm comm, int dimensions, const int* sizes, const int* periodic, int reorder,
                    MPI_Comm* made) {
    constexpr Function which = Function::cart_create;
    const auto call = [&] {
        return real<decltype(PMPI_Cart_create)>(which)(comm, dimensions, sizes, periodic, reorder, made);
    };
    return watching() ? Interposer::here().derive(which, comm, made, false, call) : call();
}
int MPI_Comm_set_name(MPI_Comm comm, const char* name) {
    if (watching()) Interposer::here().name(comm, name);
    return real<decltype(PMPI_Comm_set_name)>(Function::comm_set_name)(comm, name);
}
int MPI_Comm_free(MPI_Comm* comm) {
    const auto call = [&] { return real<decltype(PMPI_Comm_free)>(Function::comm_free)(comm); };
    return watching() ? Interposer::here().free(comm, call) : call();
}

}  // extern "C"
#pragma GCC visibility pop

// Messages, and waiting for what was begun, as the program calls them.
#pragma GCC visibility push(default)
extern "C" {

using namespace deadrank::inject::shims;

int MPI_Send(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    constexpr Function which = Function::send;
    if (!watching()) return real<decltype(PMPI_Send)>(which)(data, count, type, to, tag, comm);
    return Interposer::here().move({.which = which,
                                    .send = {const_cast<void*>(data), count, type},
                                    .root = to,
                                    .comm = comm,
                                    .tag = tag});
}
int MPI_Ssend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm) {
    constexpr Function which = Function::ssend;
    if (!watching()) return real<decltype(PMPI_Ssend)>(which)(data, count, type, to, tag, comm);
    return Interposer::here().move({.which = which,
                                    .send = {const_cast<void*>(data), count, type},
                                    .root = to,
                                    .comm = comm,
                                    .tag = tag});
}
int MPI_Isend(const void* data, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm,
              MPI_Request* request) {
    constexpr Function which = Function::isend;
    if (!watching()) return real<decltype(PMPI_Isend)>(which)(data, count, type, to, tag, comm, request);
    return Interposer::here().move({.which = which,
                                    .send = {const_cast<void*>(data), count, type},
                                    .root = to,
                                    .comm = comm,
                                    .tag = tag,
                                    .request = request});
}
int MPI_Recv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm, MPI_Status* status) {
    constexpr Function which = Function::recv;
    if (!watching()) return real<decltype(PMPI_Recv)>(which)(data, count, type, from, tag, comm, status);
    return Interposer::here().move({.which = which,
                                    .receive = {data, count, type},
                                    .root = from,
                                    .comm = comm,
                                    .tag = tag,
                                    .status = status});
}
int MPI_Irecv(void* data, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
              MPI_Request* request) {
    constexpr Function which = Function::irecv;
    if (!watching()) return real<decltype(PMPI_Irecv)>(which)(data, count, type, from, tag, comm, request);
    return Interposer::here().move({.which = which,
                                    .receive = {data, count, type},
                                    .root = from,
                                    .comm = comm,
                                    .tag = tag,
                                    .request = request});
}
int MPI_Sendrecv(const void* send, int send_count, MPI_Datatype send_type, int to, int send_tag,
                 void* receive, int count, MPI_Datatype type, int from, int tag, MPI_Comm comm,
                 MPI_Status* status) {
    constexpr Function which = Function::send_recv;
    if (!watching())
        return real<decltype(PMPI_Sendrecv)>(which)(send, send_count, send_type, to, send_tag, receive, count,
                                                    type, from, tag, comm, status);
    return Interposer::here().move({.which = which,
                                    .send = {const_cast<void*>(send), send_count, send_type},
                                    .receive = {receive, count, type},
                                    .root = to,
                                    .comm = comm,
                                    .tag = send_tag,
                                    .source = from,
                                    .receive_tag = tag,
                                    .status = status});
}

int MPI_Wait(MPI_Request* request, MPI_Status* status) {
    constexpr Function which = Function::wait;
    const auto call = [&] { return real<decltype(PMPI_Wait)>(which)(request, status); };
    return watching() ? Interposer::here().complete(which, 1, request, call) : call();
}
int MPI_Waitall(int count, MPI_Request* requests, MPI_Status* statuses) {
    constexpr Function which = Function::wait_all;
    const auto call = [&] { return real<decltype(PMPI_Waitall)>(which)(count, requests, statuses); };
    return watching() ? Interposer::here().complete(which, count, requests, call) : call();
}
int MPI_Waitany(int count, MPI_Request* requests, int* index, MPI_Status* status) {
    constexpr Function which = Function::wait_any;
    const auto call = [&] { return real<decltype(PMPI_Waitany)>(which)(count, requests, index, status); };
    return watching() ? Interposer::here().complete(which, count, requests, call) : call();
}
int MPI_Waitsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
    constexpr Function which = Function::wait_some;
    const auto call = [&] {
        return real<decltype(PMPI_Waitsome)>(which)(count, requests, done, indices, statuses);
    };
    return watching() ? Interposer::here().complete(which, count, requests, call) : call();
}
int MPI_Test(MPI_Request* request, int* done, MPI_Status* status) {
    constexpr Function which = Function::test;
    const auto call = [&] { return real<decltype(PMPI_Test)>(which)(request, done, status); };
    return watching() ? Interposer::here().complete(which, 1, request, call) : call();
}
int MPI_Testall(int count, MPI_Request* requests, int* done, MPI_Status* statuses) {
    constexpr Function which = Function::test_all;
    const auto call = [&] { return real<decltype(PMPI_Testall)>(which)(count, requests, done, statuses); };
    return watching() ? Interposer::here().complete(which, count, requests, call) : call();
}
int MPI_Testany(int count, MPI_Request* requests, int* index, int* done, MPI_Status* status) {
    constexpr Function which = Function::test_any;
    const auto call = [&] {
        return real<decltype(PMPI_Testany)>(which)(count, requests, index, done, status);
    };
    return watching() ? Interposer::here().complete(which, count, requests, call) : call();
}
int MPI_Testsome(int count, MPI_Request* requests, int* done, int* indices, MPI_Status* statuses) {
    constexpr Function which = Function::test_some;
    const auto call = [&] {
        return real<decltype(PMPI_Testsome)>(which)(count, requests, done, indices, statuses);
    };
    return watching() ? Interposer::here().complete(which, count, requests, call) : call();
}

}  // extern "C"
#pragma GCC visibility pop
