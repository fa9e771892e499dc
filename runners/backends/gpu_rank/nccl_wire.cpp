// runners/backends/gpu_rank/nccl_wire.cpp — Grouped calls need no ncclGroupStart here: their communicators do
// not wait for each other.
#include "runners/backends/gpu_rank/nccl_wire.h"

#include <fmt/format.h>
#include <thread>
#include <utility>

#include "runners/backends/gpu_rank/nccl_library.h"

namespace deadrank::runners {

using results::Code;
using results::Op;

namespace {

constexpr std::chrono::milliseconds wire_look_again{1};

// Runs on the lane of a communicator between two ranks. The sender creates the id.
void meet_over_file(NcclCommunicator& communicator, const MeetingPlace& here, const std::string& key) {
    if (communicator.rank == 0) {
        NcclId made{};
        if (const int code = communicator.api.nccl.unique_id(&made); code != 0) {
            communicator.text = communicator.api.nccl.words(code);
            communicator.trouble = code;
            return;
        }
        here.set(key, in_hex(made));
    }
    while (!here.get(key)) std::this_thread::sleep_for(wire_look_again);
    communicator.open(from_hex(*here.get(key)));
}

}  // namespace

NcclWire::NcclWire(NcclContext& context, std::shared_ptr<NcclCommunicator> communicator, MeetingPlace here)
    : context_(context), communicator_(std::move(communicator)), here_(std::move(here)) {}

std::shared_ptr<NcclCommunicator> NcclWire::communicator_between(int from, int to) {
    const int own = communicator_->rank == from ? 0 : 1;
    auto communicator =
        std::make_shared<NcclCommunicator>(context_.api, context_.device, own, 2, context_.manner);
    context_.communicators.push_back(communicator);
    communicator->lane.post([communicator, here = here_, key = fmt::format("messages {} to {}", from, to)] {
        meet_over_file(*communicator, here, key);
    });
    return communicator;
}

std::shared_ptr<NcclCommunicator> NcclWire::communicator_for(const RealCall& call) {
    const int peer = call.root, own = communicator_->rank;
    const bool message = call.op == Op::send || call.op == Op::recv;
    if (!message || peer < 0 || peer >= communicator_->size || peer == own) return communicator_;
    const auto ends = call.op == Op::send ? std::pair{own, peer} : std::pair{peer, own};
    auto& communicator = messages_[ends];
    if (!communicator) communicator = communicator_between(ends.first, ends.second);
    return communicator;
}

std::shared_ptr<Operation> NcclWire::post(const RealCall& call, bool stuck) {
    RealCall made = call;
    const auto communicator = communicator_for(call);
    if (communicator != communicator_) made.root = call.op == Op::send ? 1 : 0;
    auto operation = std::make_shared<NcclOperation>(communicator, *context_.buffers, made, stuck);
    communicator->lane.post([operation] { operation->run(); });
    return operation;
}

Code NcclWire::async_error() {
    if (aborted_) return Code::ok;
    std::vector<NcclCommunicator*> all = {communicator_.get()};
    for (const auto& [ends, communicator] : messages_) all.push_back(communicator.get());
    for (const NcclCommunicator* communicator : all) {
        int code = 0;
        NcclHandle handle = communicator->handle;
        if (!handle || context_.api.nccl.async_error(handle, &code) != 0) continue;
        if (code == 0 || code == static_cast<int>(Code::in_progress)) continue;
        const char* said = context_.api.nccl.last_error(handle);
        error_ = said ? said : "";
        return static_cast<Code>(code);
    }
    return Code::ok;
}

void NcclWire::abort() {
    if (std::exchange(aborted_, true)) return;
    context_.api.nccl.abort(communicator_->handle);
    for (const auto& [ends, communicator] : messages_) {
        if (NcclHandle handle = communicator->handle) context_.api.nccl.abort(handle);
    }
}

}  // namespace deadrank::runners
