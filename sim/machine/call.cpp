// sim/machine/call.cpp — The words of a call, and what becomes of it when it is altered.
#include "sim/machine/call.h"

#include <algorithm>

namespace deadrank::sim {

std::string_view call_name(const Call& call) {
    switch (call.kind) {
        case CallKind::storage_write:
            return "checkpoint_save";
        case CallKind::storage_read:
            return "checkpoint_load";
        case CallKind::comm_init:
            return "comm_init";
        case CallKind::step:
            return "step";
        case CallKind::phase:
            return "phase";
        case CallKind::compute:
            return "compute";
        case CallKind::allocate:
            return "allocate";
        default:
            return call.name;
    }
}

void alter(Call& call, const results::Alteration& how) {
    call.skip |= how.skip;
    call.hold |= how.hold;
    call.delay += how.delay;
    call.count += how.count_change;
    if (how.count_set >= 0) call.count = how.count_set;
    call.count = std::max<std::int64_t>(0, call.count);
    if (how.dtype != results::Dtype::none) call.dtype = how.dtype;
    if (how.op != results::Op::none) call.op = how.op;
    if (how.reduce != results::ReduceOp::none) call.reduce = how.reduce;
    if (how.root >= 0) call.root = how.root;
    if (how.answer != results::Code::ok) call.answer = how.answer;
    if (how.flip_bit >= 0) call.flip_bit = how.flip_bit;
    call.flip_received |= how.flip_received;
    call.never_completes |= how.never_completes;
}

void BentPoints::skip(std::string_view block, bool yes) {
    if (yes) left_out.emplace(block);
    if (!yes) left_out.erase(std::string(block));
}

void BentPoints::shape(Call& call) {
    if (call.kind == CallKind::block && left_out.contains(call.name)) {
        call.skip = true;
        asked.emplace(call.name);
    } else if (call.kind == CallKind::seam) {
        const auto bend = seams.find(call.name);
        if (bend == seams.end()) return;
        call.count = results::bent(call.count, bend->second);
        asked.emplace(call.name);
    }
}

}  // namespace deadrank::sim
