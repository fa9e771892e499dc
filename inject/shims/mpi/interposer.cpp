// inject/shims/mpi/interposer.cpp — One call of the program on its way to MPI: its moment, what a fault makes
// of it, what is written down.
#include "inject/shims/mpi/interposer.h"

#include "inject/shims/core/process.h"
#include "inject/shims/mpi/memory.h"

namespace deadrank::inject::shims {

namespace {

SeenCall seen(const Communicator& comm, const Call& call, std::int64_t number) {
    const Side& side = told_side(call);
    return {comm.rank->rank,
            comm.number,
            number,
            op_of(call.which),
            call.root,
            side.count,
            side.type ? dtype_of(side.type) : results::Dtype::none,
            call.reduce ? reduce_of(call.reduce) : results::ReduceOp::none};
}

// The receiving half of a Sendrecv.
SeenCall other_half(const SeenCall& first, const Call& call) {
    SeenCall half = first;
    half.op = results::Op::recv;
    half.number = first.number + 1;
    half.root = call.source;
    half.count = call.receive.count;
    half.dtype = dtype_of(call.receive.type);
    return half;
}

}  // namespace

Interposer& Interposer::here() {
    static Interposer* const one = new Interposer;
    return *one;
}

void Interposer::failed(Communicator& comm, int code) {
    char words[MPI_MAX_ERROR_STRING] = {};
    int length = 0;
    helper<decltype(PMPI_Error_string)>("PMPI_Error_string")(code, words, &length);
    Line line("comm.error", comm.rank->rank);
    line.add("comm", comm.number).add("code", results::name_of(code_of(code)));
    comm.rank->evidence.write(line.add("message", words));
}

// An error goes the way of real ones, through the communicator's handler: unless the program set another, it
// ends the job.
std::optional<int> Interposer::suffer(Communicator& comm, MPI_Comm handle, const Decision& decision) {
    if (!decision.any) return std::nullopt;
    sleep_for(decision.alteration.delay.count());
    const int code = error_of(decision.alteration.answer);
    if (code == MPI_SUCCESS) return std::nullopt;
    if (handle) {
        failed(comm, code);
        helper<decltype(PMPI_Comm_call_errhandler)>("PMPI_Comm_call_errhandler")(handle, code);
    }
    return code;
}

int Interposer::move(const Call& asked) {
    const Inside guard;
    if (asked.comm == self_handle()) return issue(asked);
    Communicator& comm = communicators_.of(asked.comm);
    Faults& faults = comm.rank->faults;
    const Decision decision = faults.at(moment_of(asked.which), comm.name);
    if (const auto answer = suffer(comm, asked.comm, decision)) return *answer;
    const Alteration& how = decision.alteration;
    if (how.hold) {
        Altered held = put_aside(asked);
        if (held.refused.empty()) {
            if (asked.request) *asked.request = no_request();
            const std::lock_guard lock(guard_);
            held_.push_back({&comm, std::move(held)});
            return MPI_SUCCESS;
        }
        faults.refuse(decision.fault, held.refused);
    }
    if (how.skip) {
        if (asked.request) *asked.request = no_request();
        return MPI_SUCCESS;
    }
    const Altered altered = decision.any ? alter(asked, how) : Altered{asked, {}, {}, {}};
    if (!altered.refused.empty()) faults.refuse(decision.fault, altered.refused);
    const int code = carry_out(comm, altered, how.never_completes);
    issue_held();
    return code;
}

void Interposer::issue_held() {
    std::vector<Held> mine;
    {
        const std::lock_guard lock(guard_);
        mine.swap(held_);
    }
    for (const Held& held : mine) carry_out(*held.comm, held.altered, false);
}

int Interposer::carry_out(Communicator& comm, const Altered& altered, bool never) {
    const Call& call = altered.call;
    const SeenCall told = [&] {
        const std::lock_guard lock(guard_);
        std::int64_t& count = is_message(call.which) ? comm.messages : comm.collectives;
        const std::int64_t number = ++count;
        if (call.which == Function::send_recv) ++count;
        return seen(comm, call, number);
    }();
    const bool two = call.which == Function::send_recv;
    if (session_.evidence()) {
        comm.rank->evidence.write(enter_line(told));
        if (two) comm.rank->evidence.write(enter_line(other_half(told, call)));
    }
    if (never) sleep_forever();
    const int code = issue(call);
    if (call.request && code == MPI_SUCCESS) {
        const std::lock_guard lock(guard_);
        pending_.emplace(*call.request, Pending{&comm, told, altered});
        return code;
    }
    for (const Afterwards& then : altered.afterwards) then();
    left(comm, told, code);
    if (two) left(comm, other_half(told, call), code);
    return code;
}

void Interposer::left(Communicator& comm, const SeenCall& call, int code) {
    if (!session_.evidence()) return;
    comm.rank->evidence.write(leave_line(call, code_of(code)));
    if (code != MPI_SUCCESS) failed(comm, code);
}

void Interposer::over(Pending& pending, int code) {
    for (const Afterwards& then : pending.altered.afterwards) then();
    left(*pending.comm, pending.seen, code);
}

int Interposer::complete(Function which, int count, MPI_Request* requests, const std::function<int()>& call) {
    const Inside guard;
    issue_held();
    Communicator& world = communicators_.world();
    const Decision decision = world.rank->faults.at(moment_of(which));
    if (const auto answer = suffer(world, world_handle(), decision)) return *answer;
    if (decision.alteration.never_completes) sleep_forever();
    if (decision.alteration.skip && which <= Function::wait_all) return MPI_SUCCESS;
    const std::vector<MPI_Request> before(requests, requests + std::max(0, count));
    const int code = call();
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i] == no_request() || requests[i] != no_request()) continue;
        std::optional<Pending> found;
        {
            const std::lock_guard lock(guard_);
            if (const auto place = pending_.find(before[i]); place != pending_.end()) {
                found.emplace(std::move(place->second));
                pending_.erase(place);
            }
        }
        if (found) over(*found, count == 1 ? code : MPI_SUCCESS);
    }
    return code;
}

}  // namespace deadrank::inject::shims
