// sim/collectives/work.cpp — Waiting for operations, and withdrawing them when their rank goes away.
#include "sim/collectives/work.h"

#include <algorithm>
#include <exception>
#include <fmt/format.h>

#include "sim/collectives/fabric.h"
#include "sim/collectives/library_texts.h"

namespace deadrank::sim {

namespace {

// Where a script unwinds, or its communicator ends with calls in it, buffers may be gone before the Work.
bool buffers_are_there(const Communicator& comm, Rank index) {
    return std::uncaught_exceptions() == 0 && !comm.member(index).closed;
}

Time deadline_after(const Fabric& machine, Time patience) {
    return patience == results::never ? patience : machine.engine.now() + patience;
}

}  // namespace

Code completion_code(const Communicator& comm, Rank index) {
    const Member& member = comm.member(index);
    return member.aborted || member.async_error == Code::ok ? Code::aborted : member.async_error;
}

void check_usable(Fabric& machine, Process& process, Communicator& comm, Rank index) {
    if (comm.member(index).aborted) {
        throw LibraryError(Code::aborted,
                           fmt::format("torch.distributed.DistBackendError: NCCL communicator was aborted on "
                                       "rank {}.",
                                       index));
    }
    machine.processes.settle(process);
    Member& member = comm.member(index);
    if (!comm.over_gloo() || member.async_error == Code::ok) return;
    if (!std::exchange(member.error_shown, true)) {
        Recorder& recorder = machine.recorder;
        recorder.record(process.id,
                        results::CommError{comm.id(), member.async_error, recorder.text(member.error_text)});
    }
    throw LibraryError(member.async_error, "RuntimeError: " + member.error_text);
}

SimWork::~SimWork() {
    if (bound() && !done_) comm_.withdraw(index_, seq_, buffers_are_there(comm_, index_));
}

void SimWork::completed() {
    done_ = true;
    if (process_.alive && !process_.stopped) show();
}

void SimWork::show() {
    if (std::exchange(shown_, true)) return;
    machine_.recorder.record(process_.id, results::CollectiveLeave{comm_.id(), seq_, op_, Code::ok});
}

bool SimWork::ready() {
    if (done_) show();
    return done_;
}

void SimWork::wait() {
    if (!bound()) return;
    if (PendingCollective* pending = comm_.pending(seq_)) comm_.offer(*pending, index_).waiting = true;
    machine_.wait(process_, {.kind = WaitKind::collective, .comm = &comm_, .number = seq_},
                  [&] { return done_ || comm_.failed() || comm_.is_over_for(index_); });
    if (done_) return show();
    if (comm_.failed())
        throw RankFailure(fingerprint_mismatch(*comm_.pending(comm_.last_completed() + 1), index_));
    machine_.recorder.record(process_.id,
                             results::CollectiveLeave{comm_.id(), seq_, op_, completion_code(comm_, index_)});
    check_usable(machine_, process_, comm_, index_);
}

bool SimWork::wait_for(Time patience, const std::function<bool()>& enough) {
    if (!bound()) return true;
    if (PendingCollective* pending = comm_.pending(seq_)) comm_.offer(*pending, index_).waiting = true;
    const auto over = [&] { return done_ || comm_.failed() || comm_.is_over_for(index_); };
    if (patience > Time{0})
        machine_.wait_until(process_, {.kind = WaitKind::collective, .comm = &comm_, .number = seq_},
                            deadline_after(machine_, patience),
                            [&] { return over() || (enough && enough()); });
    return over();
}

SimP2pWork::~SimP2pWork() {
    if (!posted_ || call_->done) return;
    const bool dying = !process_.alive || process_.pending_signal != 0;
    const bool goes_on = !dying && buffers_are_there(comm_, call_->caller());
    goes_on ? comm_.p2p().adopt(std::move(call_)) : comm_.p2p().withdraw(*call_);
}

void SimP2pWork::post() {
    posted_ = true;
    asked_ = call_->peer();
    machine_.recorder.record(
        process_.id, results::P2pEnter{comm_.id(), call_->seq, call_->count, call_->peer(), call_->tag,
                                       call_->is_send ? results::Op::send : results::Op::recv, call_->dtype});
    comm_.p2p().post(*call_);
}

void SimP2pWork::own_buffers() { call_->keep_data(); }

void SimP2pWork::show() {
    if (std::exchange(shown_, true)) return;
    const bool over = call_->done;
    machine_.recorder.record(process_.id,
                             results::P2pLeave{comm_.id(), call_->seq, asked_,
                                               call_->is_send ? results::Op::send : results::Op::recv,
                                               over ? Code::ok : completion_code(comm_, call_->caller())});
}

bool SimP2pWork::ready() {
    if (call_->done) show();
    return call_->done;
}

void SimP2pWork::wait() {
    if (!posted_) return;
    const Rank index = call_->caller();
    machine_.wait(
        process_,
        {.kind = call_->is_send ? WaitKind::send : WaitKind::recv, .comm = &comm_, .number = call_->peer()},
        [&] { return call_->done || comm_.is_over_for(index); });
    show();
    if (!call_->done) check_usable(machine_, process_, comm_, index);
}

bool SimP2pWork::wait_for(Time patience, const std::function<bool()>& enough) {
    if (!posted_) return true;
    const auto over = [&] { return call_->done || comm_.is_over_for(call_->caller()); };
    if (patience > Time{0})
        machine_.wait_until(process_,
                            {.kind = call_->is_send ? WaitKind::send : WaitKind::recv,
                             .comm = &comm_,
                             .number = call_->peer()},
                            deadline_after(machine_, patience),
                            [&] { return over() || (enough && enough()); });
    return over();
}

}  // namespace deadrank::sim
