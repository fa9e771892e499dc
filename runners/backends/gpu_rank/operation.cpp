// runners/backends/gpu_rank/operation.cpp — Values are 64-bit on the wire, whatever type the job declares. A
// wrong type is wrong for NCCL too: it takes the bytes for other numbers, or takes a different number of
// bytes.
#include "runners/backends/gpu_rank/operation.h"

#include <algorithm>
#include <chrono>
#include <csignal>
#include <thread>
#include <unistd.h>

namespace deadrank::runners {

using results::Dtype;
using results::Op;
using results::ReduceOp;

namespace {

constexpr unsigned no_timing = 2;
// A call returns long before its kernel reads the buffer: data written meanwhile is what gets sent.
constexpr std::chrono::microseconds launch_latency{200};
constexpr std::int64_t word = 8;

// The type that NCCL is told, and how many bytes it then takes for one of our words.
struct Typed {
    NcclType type;
    std::int64_t bytes;
};
Typed type_of(Dtype called, Dtype meant) {
    if (called == meant) return {NcclType::int64, word};
    const std::int64_t bytes =
        word * results::size_of(called) / std::max<std::int64_t>(1, results::size_of(meant));
    if (bytes <= 1) return {NcclType::int8, 1};
    if (bytes == 2) return {NcclType::float16, 2};
    if (bytes == 4) return {NcclType::int32, 4};
    return {NcclType::float64, bytes};
}

NcclReduce reduction_of(ReduceOp reduce) {
    switch (reduce) {
        case ReduceOp::max:
            return NcclReduce::max;
        case ReduceOp::min:
            return NcclReduce::min;
        case ReduceOp::prod:
            return NcclReduce::prod;
        default:
            return NcclReduce::sum;  // an average is a sum and a division
    }
}

bool averages(const RealCall& call) {
    return call.reduce == ReduceOp::avg &&
           (call.op == Op::all_reduce || call.op == Op::reduce || call.op == Op::reduce_scatter);
}

[[noreturn]] void never_ends(void*) {
    for (;;) ::pause();
}

}  // namespace

NcclOperation::NcclOperation(std::shared_ptr<NcclCommunicator> communicator, Buffers& buffers,
                             const RealCall& call, bool stuck)
    : communicator_(std::move(communicator)), buffers_(buffers), call_(call), stuck_(stuck) {
    // A fault may have changed the call: the buffers must be large enough for what NCCL is now told.
    const std::int64_t each = std::max<std::int64_t>(1, type_of(call.dtype, call.declared).bytes / word);
    const Extent extent = extent_of(call, communicator_->size);
    const auto numbers = [&](std::int64_t believed, std::int64_t brought) {
        return static_cast<std::size_t>(std::max({believed * each, brought, std::int64_t{1}}));
    };
    in_ = buffers_.take(numbers(extent.in, call.in_size));
    out_ = buffers_.take(numbers(extent.out, call.out_size));
    std::fill_n(in_.host, in_.numbers, 0);
    std::fill_n(out_.host, out_.numbers, 0);
    late_ = call.op == Op::send && call.flip_bit < 0;
    if (call.in && !late_) std::copy_n(call.in, call.in_size, in_.host);
    if (call.out) std::copy_n(call.out, call.out_size, out_.host);
    if (call.flip_bit >= 0 && !call.flip_received) {  // flipped on the device, so the data must be there
        buffers_.to_device(in_);
        buffers_.flip(in_, call.flip_bit);
        there_ = true;
    }
    communicator_->api.cuda.event(&event_, no_timing);
}

// A call still in progress keeps its buffers: NCCL may use them as long as the process lives.
NcclOperation::~NcclOperation() {
    if (!over_) return;
    buffers_.give_back(in_);
    buffers_.give_back(out_);
    communicator_->api.cuda.forget(event_);
}

int NcclOperation::exchange(NcclType type, std::size_t count) {
    const Nccl& nccl = communicator_->api.nccl;
    NcclHandle handle = communicator_->handle;
    if (nccl.all_to_all)
        return nccl.all_to_all(in_.device, out_.device, count, type, handle, communicator_->stream);
    const std::size_t part = count * sizeof(sim::Number);
    int code = nccl.group_start();
    for (int peer = 0; peer < communicator_->size && code == 0; ++peer) {
        const std::size_t at = part * static_cast<std::size_t>(peer);
        code =
            nccl.send(static_cast<char*>(in_.device) + at, count, type, peer, handle, communicator_->stream);
        if (code == 0)
            code = nccl.receive(static_cast<char*>(out_.device) + at, count, type, peer, handle,
                                communicator_->stream);
    }
    const int ended = nccl.group_end();
    return code == 0 ? ended : code;
}

int NcclOperation::call() {
    if (stuck_) communicator_->api.cuda.call_host(communicator_->stream, never_ends, nullptr);
    const Nccl& nccl = communicator_->api.nccl;
    const auto [type, bytes] = type_of(call_.dtype, call_.declared);
    const auto count = static_cast<std::size_t>(call_.count * std::max<std::int64_t>(1, bytes / word));
    const NcclReduce reduction = reduction_of(call_.reduce);
    const void* in = in_.device;
    void* out = out_.device;
    NcclHandle handle = communicator_->handle;
    CudaStream stream = communicator_->stream;
    switch (call_.op) {
        case Op::all_reduce:
            return nccl.all_reduce(in, out, count, type, reduction, handle, stream);
        case Op::broadcast:
            return nccl.broadcast(in, out, count, type, call_.root, handle, stream);
        case Op::reduce:
            return nccl.reduce(in, out, count, type, reduction, call_.root, handle, stream);
        case Op::all_gather:
            return nccl.all_gather(in, out, count, type, handle, stream);
        case Op::reduce_scatter:
            return nccl.reduce_scatter(in, out, count, type, reduction, handle, stream);
        case Op::all_to_all:
            return exchange(type, count);
        case Op::barrier:  // NCCL has none: c10d sums one element
            return nccl.all_reduce(in, out, 1, NcclType::int32, NcclReduce::sum, handle, stream);
        case Op::send:
            return nccl.send(in, count, type, call_.root, handle, stream);
        case Op::recv:
            return nccl.receive(out, count, type, call_.root, handle, stream);
        default:
            return static_cast<int>(results::Code::invalid_argument);
    }
}

// Copies in and out use the call's stream, so they need no wait of their own.
void NcclOperation::run() {
    const Cuda& cuda = communicator_->api.cuda;
    const auto copy = [&](void* to, const void* from, const Buffer& buffer, CopyKind kind) {
        cuda.copy(to, from, buffer.numbers * sizeof(sim::Number), kind, communicator_->stream);
    };
    int code = communicator_->trouble;
    if (late_) {
        std::this_thread::sleep_for(launch_latency);
        std::copy_n(call_.in, call_.in_size, in_.host);
    }
    if (code == 0) {
        if (!there_) copy(in_.device, in_.host, in_, CopyKind::to_device);
        copy(out_.device, out_.host, out_, CopyKind::to_device);
    }
    if (code != 0) {
        error_ = communicator_->text;
    } else if (code = call(),
               code = code == nccl_in_progress ? communicator_->settle(communicator_->handle, {}) : code;
               code != 0) {
        const char* said = communicator_->api.nccl.last_error(communicator_->handle);
        error_ = said && *said ? said : communicator_->api.nccl.words(code);
    } else {
        copy(out_.host, out_.device, out_, CopyKind::to_host);
        cuda.record(event_, communicator_->stream);
    }
    answer_ = code;
}

bool NcclOperation::done() {
    if (over_ || code_ != results::Code::ok) return true;
    const int answer = answer_;
    if (answer < 0) return false;
    if (answer > 0) {
        code_ = static_cast<results::Code>(answer);
        return true;
    }
    const int state = communicator_->api.cuda.query(event_);
    if (state == cuda_not_ready) return false;
    if (state != cuda_ok) {
        code_ = results::Code::unhandled_device_error;
        error_ = communicator_->api.cuda.words(state);
        return true;
    }
    over_ = true;
    deliver();
    return true;
}

void NcclOperation::deliver() {
    if (call_.flip_received && call_.flip_bit >= 0) {
        buffers_.flip(out_, call_.flip_bit);
        buffers_.to_host(out_);
    }
    const bool receives = call_.op != Op::reduce || call_.root == communicator_->rank;
    if (!call_.out || !receives || call_.op == Op::barrier) return;
    std::copy_n(out_.host, call_.out_size, call_.out);
    if (!averages(call_)) return;
    for (std::int64_t i = 0; i < std::min(call_.count, call_.out_size); ++i)
        call_.out[i] /= communicator_->size;
}

}  // namespace deadrank::runners
