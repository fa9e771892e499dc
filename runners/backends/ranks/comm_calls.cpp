// runners/backends/ranks/comm_calls.cpp — Translates the calls of sim::Comm into what a library needs to
// know.
#include <algorithm>

#include "runners/backends/ranks/rank_comm.h"

namespace deadrank::runners {

using results::Op;

namespace {

RealCall call_of(Op op, std::span<const sim::Number> in, std::span<sim::Number> out, std::int64_t count,
                 sim::Dtype dtype) {
    RealCall call;
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

void RealComm::all_reduce(std::span<Number> data, sim::ReduceOp reduce, sim::Dtype dtype) {
    RealCall call = call_of(Op::all_reduce, data, data, length(data), dtype);
    call.reduce = reduce;
    run(call);
}

void RealComm::broadcast(std::span<Number> data, Rank root, sim::Dtype dtype) {
    RealCall call = call_of(Op::broadcast, data, data, length(data), dtype);
    call.root = root;
    run(call);
}

void RealComm::reduce(std::span<Number> data, Rank root, sim::ReduceOp reduce, sim::Dtype dtype) {
    RealCall call = call_of(Op::reduce, data, data, length(data), dtype);
    call.root = root;
    call.reduce = reduce;
    run(call);
}

void RealComm::all_gather(std::span<const Number> in, std::span<Number> out, sim::Dtype dtype) {
    run(call_of(Op::all_gather, in, out, length(in), dtype));
}

void RealComm::reduce_scatter(std::span<const Number> in, std::span<Number> out, sim::ReduceOp reduce,
                              sim::Dtype dtype) {
    RealCall call = call_of(Op::reduce_scatter, in, out, length(out), dtype);
    call.reduce = reduce;
    run(call);
}

void RealComm::all_to_all(std::span<const Number> in, std::span<Number> out, sim::Dtype dtype) {
    run(call_of(Op::all_to_all, in, out, length(in) / std::max<Rank>(at_.size, 1), dtype));
}

void RealComm::barrier() { run(call_of(Op::barrier, {}, {}, 1, sim::Dtype::i32)); }

void RealComm::send(std::span<const Number> data, Rank peer, int tag, sim::Dtype dtype) {
    RealCall call = call_of(Op::send, data, {}, length(data), dtype);
    call.root = peer;
    call.tag = tag;
    run(call);
}

void RealComm::recv(std::span<Number> data, Rank peer, int tag, sim::Dtype dtype) {
    RealCall call = call_of(Op::recv, {}, data, length(data), dtype);
    call.root = peer;
    call.tag = tag;
    run(call);
}

std::unique_ptr<sim::Work> RealComm::all_reduce_async(std::span<Number> data, sim::ReduceOp reduce,
                                                      sim::Dtype dtype) {
    RealCall call = call_of(Op::all_reduce, data, data, length(data), dtype);
    call.reduce = reduce;
    return start(call);
}

std::unique_ptr<sim::Work> RealComm::all_gather_async(std::span<const Number> in, std::span<Number> out,
                                                      sim::Dtype dtype) {
    return start(call_of(Op::all_gather, in, out, length(in), dtype));
}

std::unique_ptr<sim::Work> RealComm::reduce_scatter_async(std::span<const Number> in, std::span<Number> out,
                                                          sim::ReduceOp reduce, sim::Dtype dtype) {
    RealCall call = call_of(Op::reduce_scatter, in, out, length(out), dtype);
    call.reduce = reduce;
    return start(call);
}

std::unique_ptr<sim::Work> RealComm::send_async(std::span<const Number> data, Rank peer, int tag,
                                                sim::Dtype dtype) {
    RealCall call = call_of(Op::send, data, {}, length(data), dtype);
    call.root = peer;
    call.tag = tag;
    return start(call);
}

std::unique_ptr<sim::Work> RealComm::recv_async(std::span<Number> data, Rank peer, int tag,
                                                sim::Dtype dtype) {
    RealCall call = call_of(Op::recv, {}, data, length(data), dtype);
    call.root = peer;
    call.tag = tag;
    return start(call);
}

}  // namespace deadrank::runners
