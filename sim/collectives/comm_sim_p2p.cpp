// sim/collectives/comm_sim_p2p.cpp — Sends and receives of one rank; inside a group they only queue up.
#include <algorithm>
#include <fmt/format.h>
#include <utility>

#include "sim/collectives/comm_sim.h"
#include "sim/collectives/fabric.h"
#include "sim/collectives/library_texts.h"

namespace deadrank::sim {

using results::Op;

std::unique_ptr<SimP2pWork> SimComm::p2p(bool is_send, const Number* in, Number* out, std::int64_t size,
                                         Rank peer, int tag, Dtype dtype) {
    const Op op = is_send ? Op::send : Op::recv;
    check(op);
    auto work = std::make_unique<SimP2pWork>(machine_, process_, *comm_);
    P2pCall& made = work->call();
    made.in = in;
    made.out = out;
    made.size = made.count = size;
    made.dtype = dtype;
    made.tag = tag;
    made.is_send = is_send;
    return p2p(std::move(work), peer);
}

namespace {

std::int64_t elements_in(std::span<const std::byte> data, Dtype dtype) {
    return static_cast<std::int64_t>(data.size()) / std::max<std::int64_t>(1, results::size_of(dtype));
}

}  // namespace

std::unique_ptr<Work> SimComm::send_bytes(std::span<const std::byte> data, Rank peer, int tag, Dtype dtype) {
    return message(true, elements_in(data, dtype), data, {}, peer, tag, dtype);
}

std::unique_ptr<Work> SimComm::recv_bytes(std::span<std::byte> data, Rank peer, int tag, Dtype dtype) {
    return message(false, elements_in(data, dtype), {}, data, peer, tag, dtype);
}

std::unique_ptr<Work> SimComm::send_size(std::int64_t count, Rank peer, int tag, Dtype dtype) {
    return message(true, count, {}, {}, peer, tag, dtype);
}

std::unique_ptr<Work> SimComm::recv_size(std::int64_t count, Rank peer, int tag, Dtype dtype) {
    return message(false, count, {}, {}, peer, tag, dtype);
}

// Without memory nothing but time is moved.
std::unique_ptr<Work> SimComm::message(bool is_send, std::int64_t count, std::span<const std::byte> in,
                                       std::span<std::byte> out, Rank peer, int tag, Dtype dtype) {
    check(is_send ? Op::send : Op::recv);
    auto work = std::make_unique<SimP2pWork>(machine_, process_, *comm_);
    P2pCall& made = work->call();
    made.is_bytes = true;
    if (is_send) made.bytes_in = in;
    made.bytes_out = out;
    made.count = count;
    made.dtype = dtype;
    made.tag = tag;
    made.is_send = is_send;
    return p2p(std::move(work), peer);
}

// Asks the interceptor, then posts the call, holds it back or leaves it out.
std::unique_ptr<SimP2pWork> SimComm::p2p(std::unique_ptr<SimP2pWork> work, Rank peer) {
    P2pCall& made = work->call();
    const bool is_send = made.is_send;
    const Op op = is_send ? Op::send : Op::recv;
    made.batch = batch_;
    Call call{.kind = is_send ? CallKind::send : CallKind::recv};
    if (process_.armed) {
        call.name = results::name_of(op);
        call.comm = name_;
        call.op = op;
        call.seq = comm_->member(index_).p2p_called + 1;
        call.count = made.count;
        call.dtype = made.dtype;
        call.root = peer;
        machine_.gate.pass(process_, call);
        if (call.answer != Code::ok) refuse_call(call.answer, op);
        if (call.skip) return work;
        made.count = std::clamp<std::int64_t>(call.count, 0, count_max);
        made.dtype = call.dtype;
        made.flip_bit = call.flip_bit;
        made.stuck = call.never_completes;
        peer = call.root;
    }
    const bool anyone = !is_send && peer == any_source;
    if (!anyone && (peer < 0 || peer >= this->size())) {
        refuse(Code::invalid_argument, fmt::format("{} : invalid peer {} (peer should be in the 0..{} range)",
                                                   nccl_function(op), peer, this->size()));
    }
    made.from = is_send ? index_ : peer;
    made.to = is_send ? peer : index_;
    if (call.hold) {
        work->own_buffers();
        auto placeholder = std::make_unique<SimP2pWork>(machine_, process_, *comm_);
        held_p2p_.push_back(std::move(work));
        return placeholder;
    }
    made.seq = ++comm_->member(index_).p2p_called;
    work->post();
    release_held_p2p(is_send);
    return work;
}

void SimComm::batch_start() {
    if (comm_ && !comm_->over_gloo()) batch_ = ++comm_->member(index_).batches;
}

// Calls held back go out after this one; their callers have gone on, so what they receive reaches nobody.
void SimComm::release_held_p2p(bool is_send) {
    for (auto& held : held_p2p_) {
        if (held && held->call().is_send == is_send && !held->posted()) {
            held->call().seq = ++comm_->member(index_).p2p_called;
            held->post();
        }
    }
}

void SimComm::send(std::span<const Number> data, Rank peer, int tag, Dtype dtype) {
    auto work = p2p(true, data.data(), nullptr, static_cast<std::int64_t>(data.size()), peer, tag, dtype);
    if (group_depth_ > 0) {
        group_.push_back(std::move(work));
    } else {
        work->wait();
    }
}

void SimComm::recv(std::span<Number> data, Rank peer, int tag, Dtype dtype) {
    auto work = p2p(false, nullptr, data.data(), static_cast<std::int64_t>(data.size()), peer, tag, dtype);
    if (group_depth_ > 0) {
        group_.push_back(std::move(work));
    } else {
        work->wait();
    }
}

std::unique_ptr<Work> SimComm::send_async(std::span<const Number> data, Rank peer, int tag, Dtype dtype) {
    return p2p(true, data.data(), nullptr, static_cast<std::int64_t>(data.size()), peer, tag, dtype);
}

std::unique_ptr<Work> SimComm::recv_async(std::span<Number> data, Rank peer, int tag, Dtype dtype) {
    return p2p(false, nullptr, data.data(), static_cast<std::int64_t>(data.size()), peer, tag, dtype);
}

}  // namespace deadrank::sim
