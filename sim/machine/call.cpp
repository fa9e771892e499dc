// sim/machine/call.cpp — A point at which a rank's calls can be altered from outside, what may be altered
// there, and the gate before each call of an armed process.
#include "sim/machine/call.h"

#include <algorithm>
#include <fmt/format.h>

#include "sim/machine/machine.h"
#include "sim/world/failure.h"

namespace deadrank::sim {

// ── The words of a call, and what becomes of it when it is altered.

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
        if (bend != seams.end()) {
            call.count = results::bent(call.count, bend->second);
            asked.emplace(call.name);
        }
        if (!checks.empty()) check(call);
    }
}

// A check that compares with a setting which the job does not have compares with nothing.
void BentPoints::check(Call& call) {
    if (call.name.starts_with(setting_seam)) settings[std::string(call.name)] = call.count;
    const auto one = checks.find(call.name);
    if (one == checks.end()) return;
    const results::ValueCheck& check = one->second;
    asked.emplace(call.name);
    std::int64_t other = check.than;
    if (!check.against.empty()) {
        const auto setting = settings.find(check.against);
        if (setting == settings.end()) return;
        other = setting->second;
    }
    if (!check.fits(call.count, other)) return;
    refusal = check.words(call.count, other);
    call.raises = refusal;
}

namespace {

bool on_device(CallKind kind) {
    return kind == CallKind::collective || kind == CallKind::send || kind == CallKind::recv ||
           kind == CallKind::compute || kind == CallKind::allocate;
}

}  // namespace

// The order of events before a call: the delay passes, then signals arrive, then its own code may raise.
void Gate::intercept_call(Process& process, Call& call) {
    call.rank = process.id;
    call.step = process.step;
    call.phase = process.phase;
    call.now = machine_.engine.now();
    interceptor_->before(call);
    if (call.never_completes && on_device(call.kind)) machine_.devices.of(process).holds_kernel = true;
    machine_.processes.settle(process);
    if (call.delay > Time{0}) machine_.engine.sleep(call.delay);
    process.pending_stop |= call.stop;
    if (call.kill_signal != 0) process.pending_signal = static_cast<std::int16_t>(call.kill_signal);
    machine_.processes.settle(process);
    if (!call.raises.empty()) throw RankFailure(std::string(call.raises));
}

bool Gate::plain(Process& process, Call& call) {
    pass(process, call);
    if (call.answer != results::Code::ok) {
        throw LibraryError(call.answer, fmt::format("RuntimeError: {} failed: {}", call.name,
                                                    results::name_of(call.answer)));
    }
    if (call.never_completes) {
        machine_.wait(process, {.kind = WaitKind::other}, [] { return false; });
    }
    return call.skip;
}

}  // namespace deadrank::sim
