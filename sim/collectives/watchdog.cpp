// sim/collectives/watchdog.cpp — Texts of ProcessGroupNCCL in torch 2.11. The poll grid begins with the
// process, as its thread does.
#include "sim/collectives/watchdog.h"

#include <algorithm>
#include <fmt/format.h>

#include "results/record/codes.h"
#include "sim/collectives/fabric.h"
#include "sim/collectives/library_texts.h"
#include "sim/machine/machine.h"

namespace deadrank::sim {

namespace {

constexpr Time poll{1'000'000'000};

// NumelIn and NumelOut as c10d writes them; count is NCCL's.
std::pair<std::int64_t, std::int64_t> elements(results::Op op, std::int64_t count, Rank size) {
    switch (op) {
        case results::Op::all_gather:
            return {count, count * size};
        case results::Op::reduce_scatter:
            return {count * size, count};
        case results::Op::all_to_all:
            return {count * size, count * size};
        default:
            return {count, count};
    }
}

}  // namespace

struct Watchdog::Pending {
    Communicator* comm = nullptr;
    Rank index = 0;
    std::int64_t seq = 0;
    results::Op op = results::Op::none;
    std::int64_t count = 0;
    Time entered{0};
    Time ring{0};  // when it has run too long
};

Time Watchdog::next_poll(const Process& process, Time after) const {
    const Time since = std::max(after - process.started, Time{0});
    return process.started + poll * ((since + poll - Time{1}) / poll);
}

// A bound of a group's own may come to its end before the look that is due: then there is one more. No look
// is further away than the bound of all groups, whose calls are looked at by the one that is due.
void Watchdog::entered(Process& process, Time timeout) {
    if (!machine_.settings.watchdog) return;
    const Time now = machine_.engine.now(), usual = machine_.settings.collective_timeout;
    if (timeout >= usual) {
        if (!process.watched) look_at(process, now + usual + Time{1});
        return;
    }
    Look& next = next_looks_[process.id];
    const Time due = now + timeout + Time{1};
    if (next.pid == process.pid && next.at > now && next.at <= due) return;
    next = {process.pid, due};
    look_at(process, due);
}

void Watchdog::async_error(Process& process) {
    if (!machine_.settings.watchdog) return;
    // An earlier check than the one scheduled: both may run, and each finds what there is.
    look_at(process, machine_.engine.now() + Time{1});
}

void Watchdog::resumed(Process& process) {
    if (machine_.settings.watchdog) look_at(process, machine_.engine.now());
}

void Watchdog::look_at(Process& process, Time when) {
    process.watched = true;
    const auto actor = static_cast<ActorId>(process.id);
    const int pid = process.pid;  // of this life; a later one has a watchdog of its own
    machine_.engine.call_at(next_poll(process, when), {actor, 0, "watchdog"}, [this, &process, pid] {
        if (process.alive && process.pid == pid && !process.stopped) look(process);
    });
}

void Watchdog::look(Process& process) {
    for (const Membership& membership : process.comms) {
        if (membership.comm->over_gloo()) continue;  // torch watches NCCL's groups alone
        if (membership.comm->member(membership.index).async_error != Code::ok) {
            return report_error(process, *membership.comm, membership.index);
        }
    }
    Pending late;
    process.watched = false;
    if (!oldest(process, late)) return;
    if (machine_.engine.now() > late.ring) return time_out(process, late);
    const Time due = std::min(late.ring, machine_.engine.now() + machine_.settings.collective_timeout);
    if (const auto next = next_looks_.find(process.id); next != next_looks_.end())
        next->second = {process.pid, due + Time{1}};
    look_at(process, due + Time{1});
}

bool Watchdog::oldest(const Process& process, Pending& found) const {
    const auto consider = [&](Pending candidate) {
        candidate.ring = candidate.entered + candidate.comm->call_timeout(candidate.index);
        if (!found.comm || candidate.ring < found.ring) found = candidate;
    };
    for (const auto& [comm, index] : process.comms) {
        if (comm->over_gloo() || comm->member(index).aborted) continue;
        std::int64_t seq = 0;
        if (const Offer* offer = comm->oldest_pending(index, seq)) {
            consider({comm, index, seq, offer->op, offer->count, offer->entered});
        }
        if (const P2pCall* call = comm->p2p().oldest_pending(index)) {
            consider({comm, index, call->seq, call->is_send ? results::Op::send : results::Op::recv,
                      call->count, call->entered});
        }
    }
    return found.comm != nullptr;
}

void Watchdog::time_out(Process& process, const Pending& late) {
    const auto [in, out] = elements(late.op, late.count, late.comm->size());
    const auto milliseconds = [](Time time) { return time.count() / 1'000'000; };
    const std::string caught = fmt::format(
        "[Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum={}, OpType={}, NumelIn={}, "
        "NumelOut={}, "
        "Timeout(ms)={}) ran for {} milliseconds before timing out.",
        late.index, late.seq, op_type(late.op), in, out, milliseconds(late.comm->call_timeout(late.index)),
        milliseconds(machine_.engine.now() - late.entered));
    machine_.recorder.log(process.id, 2, caught);
    const Member& member = late.comm->member(late.index);
    machine_.recorder.log(
        process.id, 2,
        group_prefix(*late.comm, late.index) +
            fmt::format(
                " failure detected by watchdog at work sequence id: {} PG status: last enqueued work: {}, "
                "last completed work: {}",
                late.seq, member.called, late.comm->last_completed()));
    take_down(process, *late.comm, late.index, caught);
}

void Watchdog::report_error(Process& process, Communicator& comm, Rank index) {
    Member& member = comm.member(index);
    Recorder& recorder = machine_.recorder;
    if (!std::exchange(member.error_shown, true)) {
        recorder.record(process.id,
                        results::CommError{comm.id(), member.async_error, recorder.text(member.error_text)});
    }
    recorder.log(
        process.id, 2,
        group_prefix(comm, index) +
            fmt::format("Exception (either an error or timeout) detected by watchdog at work: {}, last "
                        "enqueued NCCL work: {}, last completed NCCL work: {}.",
                        comm.last_completed() + 1, member.called, comm.last_completed()));
    const std::string version = machine_.environment.version(process, "nccl");
    take_down(process, comm, index,
              "NCCL error: " + nccl_error_lines(member.async_error, version, member.error_text));
}

void Watchdog::take_down(Process& process, const Communicator& comm, Rank index, const std::string& reason) {
    Recorder& recorder = machine_.recorder;
    recorder.log(process.id, 2,
                 "Some NCCL operations have failed or timed out. Due to the asynchronous nature of CUDA "
                 "kernels, subsequent GPU "
                 "operations might run on corrupted/incomplete data.");
    recorder.log(process.id, 2, "To avoid data inconsistency, we are taking the entire process down.");
    recorder.record(process.id, results::CommAbort{comm.id()});
    recorder.log(
        process.id, 2,
        group_prefix(comm, index) + "Process group watchdog thread terminated with exception: " + reason);
    machine_.processes.signal(process, results::sigabrt);
}

}  // namespace deadrank::sim
