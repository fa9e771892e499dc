// inject/shims/mpi/mpi_interposer.cpp — Around each MPI call: it is recorded, altered, passed on.
#include "inject/shims/mpi/mpi_interposer.h"

#include <cstring>

#include "inject/shims/core/session.h"
#include "inject/shims/mpi/mpi_call.h"

namespace deadrank::inject::shims {

// ── One call of the program on its way to MPI: its moment, what a fault makes of it, what is written down.

namespace {

SeenCall seen(const Communicator& comm, const Call& call, std::int64_t number) {
    const Side& side = counted_side(call);
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
std::optional<int> Interposer::apply_fault(Communicator& comm, MPI_Comm handle, const Decision& decision) {
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
    if (const auto answer = apply_fault(comm, asked.comm, decision)) return *answer;
    const Alteration& how = decision.alteration;
    if (how.hold) {
        Altered held = defer_call(asked);
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
    for (const CompletionStep& then : altered.afterwards) then();
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
    for (const CompletionStep& then : pending.altered.afterwards) then();
    left(*pending.comm, pending.seen, code);
}

int Interposer::complete(Function which, int count, MPI_Request* requests, const std::function<int()>& call) {
    const Inside guard;
    issue_held();
    Communicator& world = communicators_.world();
    const Decision decision = world.rank->faults.at(moment_of(which));
    if (const auto answer = apply_fault(world, world_handle(), decision)) return *answer;
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

// ── The beginning and the end: of the library, and of communicators.

namespace {

// "Open MPI v4.1.4, package: …"
std::string versions() {
    char words[MPI_MAX_LIBRARY_VERSION_STRING] = {};
    int length = 0;
    helper<decltype(PMPI_Get_library_version)>("PMPI_Get_library_version")(words, &length);
    const char* const number = std::strstr(words, " v");
    if (!number) return "openmpi=unknown";
    return "openmpi=" + std::string(number + 2, std::strcspn(number + 2, ", "));
}

}  // namespace

Interposer::Interposer()
    : session_([](RankSession& rank) { greet_rank(rank, versions(), "OMPI_COMM_WORLD_LOCAL_RANK"); }),
      communicators_(session_) {}

void Interposer::joining(const Communicator& comm) {
    Line line("comm.init.enter", comm.rank->rank);
    line.add("comm", comm.number).add("size", comm.size).add("rank_in_comm", comm.place);
    comm.rank->evidence.write(line.add("name", comm.name).add("members", comm.members));
}

void Interposer::joined(Communicator& comm, int code) {
    Line line("comm.init.leave", comm.rank->rank);
    line.add("comm", comm.number).add("result", results::name_of(code_of(code))).add("transport", "");
    comm.rank->evidence.write(line);
    if (code != MPI_SUCCESS) failed(comm, code);
}

int Interposer::begin(Function which, const std::function<int()>& make) {
    const Inside guard;
    Communicator& world = communicators_.world();
    Faults& faults = world.rank->faults;
    const Decision decision = faults.at(moment_of(which), world.name);
    if (const auto answer = apply_fault(world, nullptr, decision)) return *answer;
    if (decision.alteration.skip) faults.refuse(decision.fault, "without MPI_Init there is no MPI program");
    joining(world);
    if (decision.alteration.never_completes) sleep_forever();
    const int code = make();
    joined(world, code);
    return code;
}

int Interposer::end(const std::function<int()>& finalize) {
    const Inside guard;
    issue_held();
    Communicator& world = communicators_.world();
    const Decision decision = world.rank->faults.at(moment_of(Function::finalize), world.name);
    if (const auto answer = apply_fault(world, world_handle(), decision)) return *answer;
    if (decision.alteration.never_completes) sleep_forever();
    return decision.alteration.skip ? MPI_SUCCESS : finalize();
}

int Interposer::abort(MPI_Comm comm, const std::function<int()>& leave) {
    const Inside guard;
    Communicator& one = communicators_.of(comm == self_handle() ? world_handle() : comm);
    Line line("comm.abort", one.rank->rank);
    one.rank->evidence.write(line.add("comm", one.number));
    return leave();
}

int Interposer::derive(Function which, MPI_Comm parent, MPI_Comm* made, bool same_members,
                       const std::function<int()>& make) {
    const Inside guard;
    if (parent == self_handle()) return make();
    Communicator& from = communicators_.of(parent);
    Communicator& making = communicators_.making(from);
    Faults& faults = from.rank->faults;
    const Decision decision = faults.at(moment_of(which), making.name);
    if (const auto answer = apply_fault(from, parent, decision)) return *answer;
    if (decision.alteration.skip)
        faults.refuse(decision.fault, "a communicator that is not made cannot be used");
    joining(making);
    if (decision.alteration.never_completes) sleep_forever();
    const int code = make();
    joined(making, code);
    if (code == MPI_SUCCESS && made && *made != object<MPI_Comm>("ompi_mpi_comm_null")) {
        const Communicator& one = communicators_.made(making, *made, same_members);
        if (!same_members) {
            joining(one);
            joined(communicators_.of(*made), code);
        }
    }
    issue_held();
    return code;
}

int Interposer::free(MPI_Comm* comm, const std::function<int()>& release) {
    const Inside guard;
    issue_held();
    if (!comm || *comm == self_handle()) return release();
    Communicator& one = communicators_.of(*comm);
    const Decision decision = one.rank->faults.at(moment_of(Function::comm_free), one.name);
    if (const auto answer = apply_fault(one, *comm, decision)) return *answer;
    if (decision.alteration.never_completes) sleep_forever();
    communicators_.forget(*comm);
    if (!decision.alteration.skip) return release();
    *comm = object<MPI_Comm>("ompi_mpi_comm_null");
    return MPI_SUCCESS;
}

}  // namespace deadrank::inject::shims
