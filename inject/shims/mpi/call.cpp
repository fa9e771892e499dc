// inject/shims/mpi/call.cpp — Each function with its own order of arguments.
#include "inject/shims/mpi/call.h"

namespace deadrank::inject::shims {

namespace {

int issue_message(const Call& c) {
    const Side& s = c.send;
    const Side& r = c.receive;
    switch (c.which) {
        case Function::send:
            return real<decltype(PMPI_Send)>(c.which)(s.data, s.count, s.type, c.root, c.tag, c.comm);
        case Function::ssend:
            return real<decltype(PMPI_Ssend)>(c.which)(s.data, s.count, s.type, c.root, c.tag, c.comm);
        case Function::isend:
            return real<decltype(PMPI_Isend)>(c.which)(s.data, s.count, s.type, c.root, c.tag, c.comm,
                                                       c.request);
        case Function::recv:
            return real<decltype(PMPI_Recv)>(c.which)(r.data, r.count, r.type, c.root, c.tag, c.comm,
                                                      c.status);
        case Function::irecv:
            return real<decltype(PMPI_Irecv)>(c.which)(r.data, r.count, r.type, c.root, c.tag, c.comm,
                                                       c.request);
        default:
            return real<decltype(PMPI_Sendrecv)>(Function::send_recv)(s.data, s.count, s.type, c.root, c.tag,
                                                                      r.data, r.count, r.type, c.source,
                                                                      c.receive_tag, c.comm, c.status);
    }
}

int issue_reduction(const Call& c) {
    const Side& s = c.send;
    const Side& r = c.receive;
    switch (c.which) {
        case Function::reduce:
            return real<decltype(PMPI_Reduce)>(c.which)(s.data, r.data, s.count, s.type, c.reduce, c.root,
                                                        c.comm);
        case Function::all_reduce:
            return real<decltype(PMPI_Allreduce)>(c.which)(s.data, r.data, s.count, s.type, c.reduce, c.comm);
        case Function::iall_reduce:
            return real<decltype(PMPI_Iallreduce)>(c.which)(s.data, r.data, s.count, s.type, c.reduce, c.comm,
                                                            c.request);
        case Function::reduce_scatter:
            return real<decltype(PMPI_Reduce_scatter)>(c.which)(s.data, r.data, c.counts.data(), s.type,
                                                                c.reduce, c.comm);
        default:
            return real<decltype(PMPI_Reduce_scatter_block)>(Function::reduce_scatter_block)(
                s.data, r.data, r.count, r.type, c.reduce, c.comm);
    }
}

}  // namespace

int issue(const Call& c) {
    const Side& s = c.send;
    const Side& r = c.receive;
    switch (c.which) {
        case Function::send:
        case Function::ssend:
        case Function::isend:
        case Function::recv:
        case Function::irecv:
        case Function::send_recv:
            return issue_message(c);
        case Function::barrier:
            return real<decltype(PMPI_Barrier)>(c.which)(c.comm);
        case Function::ibarrier:
            return real<decltype(PMPI_Ibarrier)>(c.which)(c.comm, c.request);
        case Function::broadcast:
            return real<decltype(PMPI_Bcast)>(c.which)(r.data, r.count, r.type, c.root, c.comm);
        case Function::ibroadcast:
            return real<decltype(PMPI_Ibcast)>(c.which)(r.data, r.count, r.type, c.root, c.comm, c.request);
        case Function::all_gather:
            return real<decltype(PMPI_Allgather)>(c.which)(s.data, s.count, s.type, r.data, r.count, r.type,
                                                           c.comm);
        case Function::all_to_all:
            return real<decltype(PMPI_Alltoall)>(c.which)(s.data, s.count, s.type, r.data, r.count, r.type,
                                                          c.comm);
        case Function::gather:
            return real<decltype(PMPI_Gather)>(c.which)(s.data, s.count, s.type, r.data, r.count, r.type,
                                                        c.root, c.comm);
        case Function::scatter:
            return real<decltype(PMPI_Scatter)>(c.which)(s.data, s.count, s.type, r.data, r.count, r.type,
                                                         c.root, c.comm);
        default:
            return issue_reduction(c);
    }
}

}  // namespace deadrank::inject::shims
