// runners/backends/gpu_rank/nccl_wire.cpp — Grouped calls need no ncclGroupStart here: their lines do not
// wait for each other.
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

// Runs on the lane of a line between two ranks. The sender creates the id.
void meet_over_file(NcclLine& line, const MeetingPlace& here, const std::string& key) {
    if (line.rank == 0) {
        NcclId made{};
        if (const int code = line.api.nccl.unique_id(&made); code != 0) {
            line.text = line.api.nccl.words(code);
            line.trouble = code;
            return;
        }
        here.set(key, in_hex(made));
    }
    while (!here.get(key)) std::this_thread::sleep_for(wire_look_again);
    line.open(from_hex(*here.get(key)));
}

}  // namespace

NcclWire::NcclWire(NcclContext& context, std::shared_ptr<NcclLine> line, MeetingPlace here)
    : context_(context), line_(std::move(line)), here_(std::move(here)) {}

std::shared_ptr<NcclLine> NcclWire::open_message_line(int from, int to) {
    const int own = line_->rank == from ? 0 : 1;
    auto line = std::make_shared<NcclLine>(context_.api, context_.device, own, 2, context_.manner);
    context_.lines.push_back(line);
    line->lane.post([line, here = here_, key = fmt::format("messages {} to {}", from, to)] {
        meet_over_file(*line, here, key);
    });
    return line;
}

std::shared_ptr<NcclLine> NcclWire::line_for(const RealCall& call) {
    const int peer = call.root, own = line_->rank;
    const bool message = call.op == Op::send || call.op == Op::recv;
    if (!message || peer < 0 || peer >= line_->size || peer == own) return line_;
    const auto ends = call.op == Op::send ? std::pair{own, peer} : std::pair{peer, own};
    auto& line = messages_[ends];
    if (!line) line = open_message_line(ends.first, ends.second);
    return line;
}

std::shared_ptr<Operation> NcclWire::post(const RealCall& call, bool stuck) {
    RealCall made = call;
    const auto line = line_for(call);
    if (line != line_) made.root = call.op == Op::send ? 1 : 0;
    auto operation = std::make_shared<NcclOperation>(line, *context_.buffers, made, stuck);
    line->lane.post([operation] { operation->run(); });
    return operation;
}

Code NcclWire::async_error() {
    if (aborted_) return Code::ok;
    std::vector<NcclLine*> all = {line_.get()};
    for (const auto& [ends, line] : messages_) all.push_back(line.get());
    for (const NcclLine* line : all) {
        int code = 0;
        NcclHandle handle = line->handle;
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
    context_.api.nccl.abort(line_->handle);
    for (const auto& [ends, line] : messages_) {
        if (NcclHandle handle = line->handle) context_.api.nccl.abort(handle);
    }
}

}  // namespace deadrank::runners
