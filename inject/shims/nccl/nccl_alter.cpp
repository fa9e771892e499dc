// inject/shims/nccl/nccl_alter.cpp — How a fault alters an NCCL call.

#include <algorithm>

#include "inject/shims/core/call_lines.h"
#include "inject/shims/nccl/nccl_call.h"

namespace deadrank::inject::shims {

namespace {

struct Bytes {
    std::size_t send, receive;
};

std::size_t ranks_of(CommHandle comm) {
    int count = 1;
    auto* ask = real<int(CommHandle, int*)>(Function::comm_count);
    return ask && ask(comm, &count) == nccl_success && count > 0 ? static_cast<std::size_t>(count) : 1;
}

// How much memory the call reads and writes on a rank that does both.
Bytes memory_of(const Collective& call, std::size_t ranks) {
    const std::size_t one = call.count * bytes_of(call.dtype);
    switch (call.which) {
        case Function::all_gather:
        case Function::gather:
            return {one, one * ranks};
        case Function::reduce_scatter:
        case Function::scatter:
            return {one * ranks, one};
        case Function::all_to_all:
            return {one * ranks, one * ranks};
        case Function::send:
            return {one, 0};
        case Function::recv:
        case Function::bcast:
            return {0, one};
        default:
            return {one, one};
    }
}

Function function_of(results::Op op) {
    using results::Op;
    switch (op) {
        case Op::all_reduce:
            return Function::all_reduce;
        case Op::broadcast:
            return Function::broadcast;
        case Op::reduce:
            return Function::reduce;
        case Op::all_gather:
            return Function::all_gather;
        case Op::reduce_scatter:
            return Function::reduce_scatter;
        case Op::all_to_all:
            return Function::all_to_all;
        case Op::gather:
            return Function::gather;
        case Op::scatter:
            return Function::scatter;
        case Op::send:
            return Function::send;
        case Op::recv:
            return Function::recv;
        default:
            return Function::count;
    }
}

bool has_root(Function which) {
    return which == Function::broadcast || which == Function::bcast || which == Function::reduce ||
           which == Function::gather || which == Function::scatter || is_message(which);
}

// Another operation on the same buffers: what it lacks is filled with what a program would most likely write.
std::string become(Collective& call, results::Op op) {
    const Function other = function_of(op);
    if (other == Function::count) return "NCCL has no " + std::string(results::name_of(op));
    if (!call.send) call.send = call.receive;
    if (has_root(other) && call.root < 0) call.root = 0;
    call.which = other;
    return "";
}

std::string reshape(Collective& call, const Alteration& how) {
    if (how.op != results::Op::none && how.op != op_of(call.which)) {
        if (std::string refused = become(call, how.op); !refused.empty()) return refused;
    }
    if (how.root >= 0 && !has_root(call.which)) return std::string(symbol_of(call.which)) + " has no root";
    if (how.root >= 0) call.root = how.root;
    if (how.reduce != results::ReduceOp::none) call.reduce = nccl_of(how.reduce);
    if (how.dtype != results::Dtype::none) call.dtype = nccl_of(how.dtype);
    const auto count = static_cast<std::int64_t>(call.count);
    const std::int64_t wanted = how.count_set >= 0 ? how.count_set : count + how.count_change;
    call.count = static_cast<std::size_t>(std::max<std::int64_t>(0, wanted));
    return "";
}

Bit place_in(const Collective& call, std::int64_t bit) {
    return place_of(bit, call.count, bytes_of(call.dtype));
}

void flip(const Device& device, void* buffer, const Bit& bit, Stream stream) {
    auto* at = static_cast<unsigned char*>(buffer) + bit.byte;
    unsigned char value = 0;
    if (!device.copy(&value, at, 1, stream) || !device.wait(stream)) return;
    value ^= bit.mask;
    device.copy(at, &value, 1, stream);
    device.wait(stream);
}

}  // namespace

Altered alter(const Collective& asked, const Alteration& how, const Device& device) {
    Altered altered{asked, {}, {}};
    Collective& call = altered.call;
    if (altered.refused = reshape(call, how); !altered.refused.empty()) return {asked, {}, altered.refused};
    const std::size_t ranks = ranks_of(asked.comm);
    const Bytes needed = memory_of(call, ranks);
    Bytes own = memory_of(asked, ranks);
    if (own.send == 0) own.send = own.receive;  // in place
    const bool flips = how.flip_bit >= 0 && call.count > 0 && bytes_of(call.dtype) > 0;
    const bool flips_sent = flips && !how.flip_received && call.send;
    const bool more_sent = call.send && (needed.send > own.send || flips_sent);
    const bool more_received = needed.receive > own.receive && (call.receive || !asked.receive);
    if ((more_sent || more_received || flips) && !device.memory()) {
        return {asked, {}, "neither libcudart nor libcuda is loaded, which scratch memory would come from"};
    }
    if (more_sent) {
        void* scratch = device.allocate(std::max(needed.send, own.send));
        if (!scratch) return {asked, {}, "the device has no scratch memory left"};
        device.copy(scratch, call.send, own.send, call.stream);
        if (flips_sent) flip(device, scratch, place_in(call, how.flip_bit), call.stream);
        call.send = scratch;
    }
    if (more_received) {
        void* scratch = device.allocate(needed.receive);
        if (!scratch) return {asked, {}, "the device has no scratch memory left"};
        void* const wanted = call.receive;
        call.receive = scratch;
        if (wanted) {
            altered.afterwards.push_back([&device, wanted, scratch, own, stream = call.stream] {
                device.copy(wanted, scratch, own.receive, stream);
            });
        }
    }
    if (flips && how.flip_received && asked.receive) {
        altered.afterwards.push_back([&device, call, to = asked.receive, bit = place_in(call, how.flip_bit)] {
            device.wait(call.stream);
            flip(device, to, bit, call.stream);
        });
    }
    return altered;
}

}  // namespace deadrank::inject::shims
