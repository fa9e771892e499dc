// inject/shims/mpi/message_exports.cpp — Messages, and waiting for what was begun, as the program calls them.
#include "inject/shims/mpi/interposer.h"

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
