// inject/shims/nccl/collective.cpp — Four shapes of arguments cover all of NCCL's collectives.
#include "inject/shims/nccl/collective.h"

namespace deadrank::inject::shims {

namespace {

using Reducing = int(const void*, void*, std::size_t, int, int, CommHandle, Stream);
using Rooted = int(const void*, void*, std::size_t, int, int, CommHandle, Stream);
using Plain = int(const void*, void*, std::size_t, int, CommHandle, Stream);
using ReducingToRoot = int(const void*, void*, std::size_t, int, int, int, CommHandle, Stream);
using InPlace = int(void*, std::size_t, int, int, CommHandle, Stream);
using Sending = int(const void*, std::size_t, int, int, CommHandle, Stream);

template <class Shape, class... Arguments>
int call_real(Function which, Arguments... arguments) {
    Shape* function = real<Shape>(which);
    return function ? function(arguments...) : missing(which);
}

}  // namespace

results::Op op_of(Function which) { return results::op_named(moment_of(which)); }

bool is_message(Function which) { return which == Function::send || which == Function::recv; }

int issue(const Collective& c) {
    switch (c.which) {
        case Function::all_reduce:
        case Function::reduce_scatter:
            return call_real<Reducing>(c.which, c.send, c.receive, c.count, c.dtype, c.reduce, c.comm,
                                       c.stream);
        case Function::reduce:
            return call_real<ReducingToRoot>(c.which, c.send, c.receive, c.count, c.dtype, c.reduce, c.root,
                                             c.comm, c.stream);
        case Function::broadcast:
        case Function::gather:
        case Function::scatter:
            return call_real<Rooted>(c.which, c.send, c.receive, c.count, c.dtype, c.root, c.comm, c.stream);
        case Function::all_gather:
        case Function::all_to_all:
            return call_real<Plain>(c.which, c.send, c.receive, c.count, c.dtype, c.comm, c.stream);
        case Function::bcast:
            return call_real<InPlace>(c.which, c.receive, c.count, c.dtype, c.root, c.comm, c.stream);
        case Function::send:
            return call_real<Sending>(c.which, c.send, c.count, c.dtype, c.root, c.comm, c.stream);
        case Function::recv:
            return call_real<InPlace>(c.which, c.receive, c.count, c.dtype, c.root, c.comm, c.stream);
        default:
            return missing(c.which);
    }
}

}  // namespace deadrank::inject::shims
