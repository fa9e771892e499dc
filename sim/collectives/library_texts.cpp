// sim/collectives/library_texts.cpp — The words of NCCL, and of gloo under torch.distributed, in their
// releases.
#include "sim/collectives/library_texts.h"

#include <algorithm>
#include <fmt/format.h>

#include "sim/collectives/nccl_settings.h"

namespace deadrank::sim {

// ── Spelled as the libraries print them, odd spacing included.

using results::Op;

std::string_view nccl_function(Op op) {
    switch (op) {
        case Op::barrier:
        case Op::all_reduce:
            return "AllReduce";
        case Op::broadcast:
            return "Broadcast";
        case Op::reduce:
            return "Reduce";
        case Op::all_gather:
            return "AllGather";
        case Op::reduce_scatter:
            return "ReduceScatter";
        case Op::all_to_all:
            return "AlltoAll";
        case Op::send:
            return "Send";
        case Op::recv:
            return "Recv";
        default:
            return "Group";
    }
}

std::string_view op_type(Op op) {
    switch (op) {
        case Op::barrier:
        case Op::all_reduce:
            return "ALLREDUCE";
        case Op::broadcast:
            return "BROADCAST";
        case Op::reduce:
            return "REDUCE";
        case Op::all_gather:
            return "_ALLGATHER_BASE";
        case Op::reduce_scatter:
            return "_REDUCE_SCATTER_BASE";
        case Op::all_to_all:
            return "ALLTOALL_BASE";
        case Op::send:
            return "SEND";
        case Op::recv:
            return "RECV";
        default:
            return "UNKNOWN";
    }
}

namespace {

struct ErrorWords {
    std::string_view error;
    std::string_view meaning;
};

// What can be done about an error stands beside it since 2.18; an error of a peer has a word of its own since
// 2.13, and was one of the system before.
ErrorWords words_of(Code code, std::string_view version) {
    const int release = nccl_version_code(std::string(version));
    const bool known = release > 0, bare = known && release < 21800;
    if (code == Code::remote_error && known && release < 21300) code = Code::system_error;
    switch (code) {
        case Code::unhandled_device_error:
            return {
                bare ? "unhandled cuda error" : "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
                "ncclUnhandledCudaError: Call to CUDA function failed."};
        case Code::system_error:
            return {bare ? "unhandled system error"
                         : "unhandled system error (run with NCCL_DEBUG=INFO for details)",
                    "ncclSystemError: System call (e.g. socket, malloc) or external library call failed or "
                    "device error."};
        case Code::invalid_argument:
            return {bare ? "invalid argument" : "invalid argument (run with NCCL_DEBUG=WARN for details)",
                    "ncclInvalidArgument: Invalid value for an argument."};
        case Code::invalid_usage:
            return {bare ? "invalid usage" : "invalid usage (run with NCCL_DEBUG=WARN for details)",
                    "ncclInvalidUsage: This usually reflects invalid usage of NCCL library."};
        case Code::remote_error:
            return {"remote process exited or there was a network error",
                    "ncclRemoteError: A call failed possibly due to a network error or a remote process "
                    "exiting prematurely."};
        default:
            return {
                bare ? "internal error" : "internal error - please report this issue to the NCCL developers",
                "ncclInternalError: Internal check failed."};
    }
}

std::string_view tensor_type(Dtype dtype) {
    switch (dtype) {
        case Dtype::i8:
            return "Char";
        case Dtype::i32:
            return "Int";
        case Dtype::i64:
            return "Long";
        case Dtype::f16:
            return "Half";
        case Dtype::bf16:
            return "BFloat16";
        case Dtype::f64:
            return "Double";
        default:
            return "Float";
    }
}

std::string fingerprint(const PendingCollective& pending, const Offer& offer) {
    return fmt::format(
        "CollectiveFingerPrint(SequenceNumber={}, OpType={}, TensorShape=[{}], TensorDtypes={}, "
        "TensorDeviceTypes=TensorOptions(dtype=float (default), device=cuda, layout=Strided (default), "
        "requires_grad=false (default), pinned_memory=false (default), memory_format=(nullopt)))",
        pending.seq, op_type(offer.op), offer.count, tensor_type(offer.dtype));
}

bool differ(const Offer& one, const Offer& other) {
    return one.op != other.op || one.count != other.count || one.dtype != other.dtype;
}

}  // namespace

std::string nccl_error_lines(Code code, std::string_view version, std::string_view last_error) {
    const ErrorWords words = words_of(code, version);
    return fmt::format("{}, NCCL version {}\n{}\nLast error:\n{}", words.error, version, words.meaning,
                       last_error);
}

std::string nccl_exception(Code code, std::string_view version, std::string_view last_error) {
    return fmt::format(
        "torch.distributed.DistBackendError: NCCL error in: "
        "/pytorch/torch/csrc/distributed/c10d/NCCLUtils.cpp:94, {}",
        nccl_error_lines(code, version, last_error));
}

std::string retries_exceeded_text(std::string_view peer) {
    return fmt::format(
        "NET/IB: Got completion from peer {}<4791> with status=IBV_WC_RETRY_EXC_ERR(12) "
        "opcode=IBV_WC_RDMA_WRITE(1) reqSize=0 vendor_err=129 req_type=Send",
        peer);
}

std::string access_denied_text(std::string_view peer, bool own) {
    return fmt::format(
        "NET/IB: Got completion from peer {}<4791> with status={} opcode=IBV_WC_RDMA_WRITE(1) reqSize=0 "
        "vendor_err={} req_type=Send",
        peer, own ? "IBV_WC_LOC_PROT_ERR(4)" : "IBV_WC_REM_ACCESS_ERR(10)", own ? 81 : 136);
}

std::string wrong_chunk_text(std::string_view peer, std::int64_t expected, std::int64_t sent, bool socket) {
    if (socket) {
        return fmt::format(
            "NET/Socket : peer {}<4791> message truncated : receiving {} bytes instead of {}. If you believe "
            "your socket network is in a healthy state, there may be a mismatch in collective sizes or "
            "environment settings (e.g. NCCL_PROTO, NCCL_ALGO) between ranks",
            peer, sent, expected);
    }
    return fmt::format(
        "NET/IB : req 0/1 tag 0 peer {}<4791> collective mismatch error, local size {} remote size {}", peer,
        expected, sent);
}

std::string connection_closed_text(std::string_view peer) {
    return fmt::format("socketProgress: Connection closed by remote peer {}<4791>", peer);
}

bool differ_in_fingerprint(const PendingCollective& pending) {
    return std::any_of(pending.offers.begin(), pending.offers.end(),
                       [&](const Offer& offer) { return differ(offer, pending.offers.front()); });
}

std::string fingerprint_mismatch(const PendingCollective& pending, Rank mine) {
    const Offer& own = offer_at(pending, mine);
    Rank peer = mine == 0 ? 1 : 0;
    for (const Offer& offer : pending.offers) {
        if (!differ(offer, own)) continue;
        peer = offer.place;
        break;
    }
    const Offer& other = offer_at(pending, peer);
    std::string aspects;
    if (own.op != other.op)
        aspects += fmt::format("\t  Op type: {}vs {}", op_type(own.op), op_type(other.op));
    if (own.count != other.count)
        aspects += fmt::format("\t  Tensor Tensor shapes: {}vs {}", own.count, other.count);
    if (own.dtype != other.dtype) {
        aspects += fmt::format("\t  Tensor Tensor dtypes: {}vs {}", tensor_type(own.dtype),
                               tensor_type(other.dtype));
    }
    return fmt::format(
        "RuntimeError: Detected mismatch between collectives on ranks. Rank {} is running collective: {}, "
        "but Rank {} "
        "is running collective: {}.Collectives differ in the following aspects: {}",
        mine, fingerprint(pending, own), peer, fingerprint(pending, other), aspects);
}

std::string monitored_barrier_failure(const PendingCollective& pending, Rank mine, Time timeout) {
    const auto milliseconds = timeout.count() / 1'000'000;
    if (mine != 0) {
        return fmt::format(
            "RuntimeError: Rank {} successfully reached monitoredBarrier, but received errors while waiting "
            "for "
            "send/recv from rank 0. Please check rank 0 logs for faulty rank.",
            mine);
    }
    std::string missing;
    for (const Offer& offer : pending.offers) {
        if (offer.arrived) continue;
        missing += fmt::format("{}{}", missing.empty() ? "" : ", ", offer.place);
    }
    return fmt::format("RuntimeError: [Rank 0]: Ranks {} failed to pass monitoredBarrier in {} ms", missing,
                       milliseconds);
}

// ── As real runs printed them, file and line included.

std::string gloo_closed_text(std::string_view peer) {
    return fmt::format(
        "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:547] Connection closed by peer [{}]:7874",
        peer);
}

std::string gloo_read_text(std::string_view peer) {
    return fmt::format(
        "[/pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:525] Read error [{}]:7874: Connection reset "
        "by peer",
        peer);
}

std::string gloo_timeout_text(Time after) {
    return fmt::format(
        "[/pytorch/third_party/gloo/gloo/transport/tcp/unbound_buffer.cc:81] Timed out waiting {}ms for recv "
        "operation to complete",
        after.count() / 1'000'000);
}

std::string gloo_terminate_text() {
    return "terminate called after throwing an instance of 'gloo::EnforceNotMet'";
}

std::string gloo_too_long_text(std::int64_t came, std::int64_t room) {
    return fmt::format(
        "  what():  [enforce fail at /pytorch/third_party/gloo/gloo/transport/tcp/pair.cc:456] "
        "op.preamble.length <= op.nbytes. {} vs {}. Received data size doesn't match expected size. Is there "
        "a distributed collective mismatch in your code?",
        came, room);
}

}  // namespace deadrank::sim
