// runners/backends/mpi_rank/mpi_calls.cpp — Values are 64-bit on the wire, whatever type the job declares. A
// wrong type is wrong for MPI too: it takes the bytes for another number, or takes fewer of them.
#include "runners/backends/mpi_rank/mpi_calls.h"

#include <algorithm>

namespace deadrank::runners {

using results::Dtype;
using results::Op;
using results::ReduceOp;
using sim::Number;

namespace {

MPI_Datatype type_of(Dtype called, Dtype meant) {
    if (called == meant) return MPI_INT64_T;
    const std::int64_t bytes =
        8 * results::size_of(called) / std::max<std::int64_t>(1, results::size_of(meant));
    switch (bytes) {
        case 1:
            return MPI_INT8_T;
        case 2:
            return MPI_INT16_T;
        case 4:
            return MPI_INT32_T;
        default:
            return MPI_DOUBLE;
    }
}

MPI_Op op_of(ReduceOp reduce) {
    switch (reduce) {
        case ReduceOp::max:
            return MPI_MAX;
        case ReduceOp::min:
            return MPI_MIN;
        case ReduceOp::prod:
            return MPI_PROD;
        default:
            return MPI_SUM;  // an average is a sum and a division
    }
}

void flip(std::vector<Number>& numbers, std::int64_t bit) {
    if (bit < 0 || bit / 64 >= static_cast<std::int64_t>(numbers.size())) return;
    Number& value = numbers[static_cast<std::size_t>(bit / 64)];
    value = static_cast<Number>(static_cast<std::uint64_t>(value) ^ std::uint64_t{1} << bit % 64);
}

}  // namespace

MpiOperation::MpiOperation(const RealCall& call, MPI_Comm comm) : call_(call) {
    MPI_Comm_rank(comm, &rank_);
    MPI_Comm_size(comm, &size_);
    const MPI_Datatype type = type_of(call.dtype, call.declared);
    if (!alters()) {
        // MPI forbids a send buffer inside the receive buffer, which NCCL allows.
        const bool within = call.in > call.out && call.in < call.out + call.out_size;
        const bool first = call.in == call.out && call.in_size != call.out_size;
        if (call.in && call.out && (within || first)) in_.assign(call.in, call.in + call.in_size);
        begin(comm, type, in_.empty() ? call.in : in_.data(), call.out);
        return;
    }
    // A fault has changed the call: the buffers must be large enough for what MPI is now told.
    const Extent extent = extent_of(call, size_);
    in_.assign(static_cast<std::size_t>(std::max(extent.in, call.in_size)), 0);
    out_.assign(static_cast<std::size_t>(std::max(extent.out, call.out_size)), 0);
    if (call.in) std::copy_n(call.in, call.in_size, in_.begin());
    if (!call.flip_received) flip(in_, call.flip_bit);
    if (call.out) std::copy_n(call.out, call.out_size, out_.begin());
    const bool in_place = call.in && call.in == call.out && call.in_size == call.out_size;
    if (in_place) out_ = in_;
    begin(comm, type, in_place ? out_.data() : in_.data(), out_.data());
}

bool MpiOperation::alters() const {
    const Extent own = extent_of(call_, size_);
    const bool fits = own.in <= call_.in_size && own.out <= call_.out_size;
    return !fits || call_.flip_bit >= 0 || call_.dtype != call_.declared;
}

void MpiOperation::begin(MPI_Comm comm, MPI_Datatype type, const Number* in, Number* out) {
    const auto count = static_cast<int>(call_.count);
    const void* source = in == out ? MPI_IN_PLACE : in;
    switch (call_.op) {
        case Op::all_reduce:
            error_ = MPI_Iallreduce(source, out, count, type, op_of(call_.reduce), comm, &request_);
            break;
        case Op::broadcast:
            error_ = MPI_Ibcast(out, count, type, call_.root, comm, &request_);
            break;
        case Op::reduce:
            error_ = MPI_Ireduce(call_.root == rank_ ? source : in, out, count, type, op_of(call_.reduce),
                                 call_.root, comm, &request_);
            break;
        case Op::all_gather:
            error_ = MPI_Iallgather(source, count, type, out, count, type, comm, &request_);
            break;
        case Op::reduce_scatter:
            error_ =
                MPI_Ireduce_scatter_block(source, out, count, type, op_of(call_.reduce), comm, &request_);
            break;
        case Op::all_to_all:
            error_ = MPI_Ialltoall(source, count, type, out, count, type, comm, &request_);
            break;
        case Op::barrier:
            error_ = MPI_Ibarrier(comm, &request_);
            break;
        case Op::send:
            // The few values here stand for megabytes, which no library would buffer: a send ends when its
            // receiver takes it.
            error_ = MPI_Issend(in, count, type, call_.root, call_.tag, comm, &request_);
            break;
        case Op::recv:
            error_ = MPI_Irecv(out, count, type, call_.root, call_.tag, comm, &request_);
            break;
        default:
            error_ = MPI_ERR_UNSUPPORTED_OPERATION;
    }
}

bool MpiOperation::done() {
    if (over_ || failed()) return true;
    int finished = 0;
    MPI_Status status;
    const int answered = MPI_Test(&request_, &finished, &status);
    if (answered != MPI_SUCCESS) error_ = answered == MPI_ERR_IN_STATUS ? status.MPI_ERROR : answered;
    if (failed()) return true;
    if (finished == 0) return false;
    over_ = true;
    deliver();
    return true;
}

void MpiOperation::deliver() {
    if (call_.flip_received) flip(out_, call_.flip_bit);
    const bool receives = call_.op != Op::reduce || call_.root == rank_;
    if (!out_.empty() && call_.out && receives) {
        std::copy_n(out_.begin(),
                    std::min<std::int64_t>(call_.out_size, static_cast<std::int64_t>(out_.size())),
                    call_.out);
    }
    if (call_.reduce != ReduceOp::avg || !call_.out || !receives) return;
    if (call_.op != Op::all_reduce && call_.op != Op::reduce && call_.op != Op::reduce_scatter) return;
    for (std::int64_t i = 0; i < std::min(call_.count, call_.out_size); ++i) call_.out[i] /= size_;
}

std::string MpiOperation::error_text() const {
    char text[MPI_MAX_ERROR_STRING];
    int length = 0;
    MPI_Error_string(error_, text, &length);
    return {text, static_cast<std::size_t>(length)};
}

}  // namespace deadrank::runners
