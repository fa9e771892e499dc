// runners/mpi/linked/comm_calls.cpp — The calls of sim::Comm, each as what MPI needs to know of it.
#include <algorithm>

#include "runners/mpi/linked/comm.h"

namespace deadrank::runners {

using results::Op;

namespace {

MpiCall call_of(Op op, std::span<const sim::Number> in, std::span<sim::Number> out, std::int64_t count,
                sim::Dtype dtype) {
    MpiCall call;
    call.op = op;
    call.in = in.data();
    call.in_size = static_cast<std::int64_t>(in.size());
    call.out = out.data();
    call.out_size = static_cast<std::int64_t>(out.size());
    call.count = count;
    call.dtype = call.declared = dtype;
    call.reduce = sim::ReduceOp::none;
    return call;
}

std::int64_t length(std::span<const sim::Number> data) { return static_cast<std::int64_t>(data.size()); }

}  // namespace

void MpiComm::all_reduce(std::span<Number> data, sim::ReduceOp reduce, sim::Dtype dtype) {
    MpiCall call = call_of(Op::all_reduce, data, data, length(data), dtype);
    call.reduce = reduce;
    run(call);
}

void MpiComm::broadcast(std::span<Number> data, Rank root, sim::Dtype dtype) {
    MpiCall call = call_of(Op::broadcast, data, data, length(data), dtype);
    call.root = root;
    run(call);
}

void MpiComm::reduce(std::span<Number> data, Rank root, sim::ReduceOp reduce, sim::Dtype dtype) {
    MpiCall call = call_of(Op::reduce, data, data, length(data), dtype);
    call.root = root;
    call.reduce = reduce;
    run(call);
}

void MpiComm::all_gather(std::span<const Number> in, std::span<Number> out, sim::Dtype dtype) {
    run(call_of(Op::all_gather, in, out, length(in), dtype));
}

void MpiComm::reduce_scatter(std::span<const Number> in, std::span<Number> out, sim::ReduceOp reduce,
                             sim::Dtype dtype) {
    MpiCall call = call_of(Op::reduce_scatter, in, out, length(out), dtype);
    call.reduce = reduce;
    run(call);
}

void MpiComm::all_to_all(std::span<const Number> in, std::span<Number> out, sim::Dtype dtype) {
    run(call_of(Op::all_to_all, in, out, length(in) / std::max<Rank>(size_, 1), dtype));
}

void MpiComm::barrier() { run(call_of(Op::barrier, {}, {}, 1, sim::Dtype::i32)); }

void MpiComm::send(std::span<const Number> data, Rank peer, int tag, sim::Dtype dtype) {
    MpiCall call = call_of(Op::send, data, {}, length(data), dtype);
    call.root = peer;
    call.tag = tag;
    run(call);
}

void MpiComm::recv(std::span<Number> data, Rank peer, int tag, sim::Dtype dtype) {
    MpiCall call = call_of(Op::recv, {}, data, length(data), dtype);
    call.root = peer;
    call.tag = tag;
    run(call);
}

std::unique_ptr<sim::Work> MpiComm::all_reduce_async(std::span<Number> data, sim::ReduceOp reduce,
                                                     sim::Dtype dtype) {
    MpiCall call = call_of(Op::all_reduce, data, data, length(data), dtype);
    call.reduce = reduce;
    return start(call);
}

std::unique_ptr<sim::Work> MpiComm::all_gather_async(std::span<const Number> in, std::span<Number> out,
                                                     sim::Dtype dtype) {
    return start(call_of(Op::all_gather, in, out, length(in), dtype));
}

std::unique_ptr<sim::Work> MpiComm::reduce_scatter_async(std::span<const Number> in, std::span<Number> out,
                                                         sim::ReduceOp reduce, sim::Dtype dtype) {
    MpiCall call = call_of(Op::reduce_scatter, in, out, length(out), dtype);
    call.reduce = reduce;
    return start(call);
}

std::unique_ptr<sim::Work> MpiComm::send_async(std::span<const Number> data, Rank peer, int tag,
                                               sim::Dtype dtype) {
    MpiCall call = call_of(Op::send, data, {}, length(data), dtype);
    call.root = peer;
    call.tag = tag;
    return start(call);
}

std::unique_ptr<sim::Work> MpiComm::recv_async(std::span<Number> data, Rank peer, int tag, sim::Dtype dtype) {
    MpiCall call = call_of(Op::recv, {}, data, length(data), dtype);
    call.root = peer;
    call.tag = tag;
    return start(call);
}

}  // namespace deadrank::runners
