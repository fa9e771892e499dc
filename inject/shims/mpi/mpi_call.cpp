// inject/shims/mpi/mpi_call.cpp — One MPI call: its arguments, and the bytes that it moves.
#include "inject/shims/mpi/mpi_call.h"

#include <pthread.h>

namespace deadrank::inject::shims {

// ── Each function with its own order of arguments.

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

// ── MPI's rules of significance: who gives, who gets, and whose arguments are read.

namespace {

std::optional<std::size_t> span_of(const Side& side, int parts) {
    const std::int64_t elements = static_cast<std::int64_t>(side.count) * parts;
    if (elements <= 0 || !side.data || side.data == MPI_IN_PLACE) return 0;
    MPI_Aint lower = 0, extent = 0, true_lower = 0, true_extent = 0;
    helper<decltype(PMPI_Type_get_extent)>("PMPI_Type_get_extent")(side.type, &lower, &extent);
    helper<decltype(PMPI_Type_get_true_extent)>("PMPI_Type_get_true_extent")(side.type, &true_lower,
                                                                             &true_extent);
    if (true_lower < 0 || extent < 0) return std::nullopt;
    return static_cast<std::size_t>(true_lower + true_extent + extent * (elements - 1));
}

}  // namespace

Seat seat_in(MPI_Comm comm) {
    Seat seat;
    helper<decltype(PMPI_Comm_size)>("PMPI_Comm_size")(comm, &seat.ranks);
    helper<decltype(PMPI_Comm_rank)>("PMPI_Comm_rank")(comm, &seat.me);
    return seat;
}

bool has_root(Function which) {
    switch (which) {
        case Function::broadcast:
        case Function::ibroadcast:
        case Function::reduce:
        case Function::gather:
        case Function::scatter:
            return true;
        default:
            return is_message(which);
    }
}

bool is_message(Function which) { return which <= Function::send_recv; }

bool sends(const Call& call, const Seat& seat) {
    switch (call.which) {
        case Function::recv:
        case Function::irecv:
        case Function::barrier:
        case Function::ibarrier:
            return false;
        case Function::broadcast:
        case Function::ibroadcast:
        case Function::scatter:
            return call.root == seat.me;
        default:
            return true;
    }
}

bool sends_in_place(const Call& call) {
    return call.which == Function::broadcast || call.which == Function::ibroadcast ||
           call.send.data == MPI_IN_PLACE;
}

bool receives(const Call& call, const Seat& seat) {
    switch (call.which) {
        case Function::send:
        case Function::ssend:
        case Function::isend:
        case Function::barrier:
        case Function::ibarrier:
            return false;
        case Function::broadcast:
        case Function::ibroadcast:
            return call.root != seat.me;
        case Function::reduce:
        case Function::gather:
            return call.root == seat.me;
        default:
            return true;
    }
}

const Side& counted_side(const Call& call) {
    const bool by_receiver = call.which == Function::recv || call.which == Function::irecv ||
                             call.which == Function::scatter || sends_in_place(call);
    return by_receiver && call.receive.data != MPI_IN_PLACE ? call.receive : call.send;
}

std::size_t width_of(MPI_Datatype type) {
    MPI_Aint lower = 0, extent = 0;
    helper<decltype(PMPI_Type_get_extent)>("PMPI_Type_get_extent")(type, &lower, &extent);
    return extent > 0 ? static_cast<std::size_t>(extent) : 0;
}

std::optional<Memory> memory_of(const Call& call, const Seat& seat) {
    const Function which = call.which;
    const bool all = which == Function::all_to_all;
    const bool send_all = all || which == Function::scatter || which == Function::reduce_scatter_block;
    const bool receive_all = all || which == Function::gather || which == Function::all_gather;
    const bool in_receive = which == Function::broadcast || which == Function::ibroadcast;
    const auto send = sends(call, seat) ? span_of(call.send, send_all ? seat.ranks : 1) : std::size_t{0};
    const auto receive = receives(call, seat) || in_receive
                             ? span_of(call.receive, receive_all ? seat.ranks : 1)
                             : std::size_t{0};
    if (!send || !receive) return std::nullopt;
    return Memory{*send, *receive};
}

bool on_stack(const void* address) {
    pthread_attr_t attributes;
    if (::pthread_getattr_np(::pthread_self(), &attributes) != 0) return true;  // then it is left alone
    void* begin = nullptr;
    std::size_t size = 0;
    ::pthread_attr_getstack(&attributes, &begin, &size);
    ::pthread_attr_destroy(&attributes);
    const auto* at = static_cast<const char*>(address);
    return at >= static_cast<char*>(begin) && at < static_cast<char*>(begin) + size;
}

}  // namespace deadrank::inject::shims
