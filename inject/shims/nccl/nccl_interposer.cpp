// inject/shims/nccl/nccl_interposer.cpp — Around each NCCL call: it is recorded, altered, passed on.
#include "inject/shims/nccl/nccl_interposer.h"

#include "inject/shims/core/call_lines.h"
#include "inject/shims/core/session.h"

namespace deadrank::inject::shims {

// ── One call of the program on its way to NCCL: its moment, what a fault makes of it, what is written down,
// what follows its launch.

namespace {

// A collective.leave or p2p.leave that waits for its stream.
struct Leave {
    LineFile* file;
    SeenCall call;

    void write(int code) const { file->write(leave_line(call, static_cast<results::Code>(code))); }
    static void landed(void* one) {
        const std::unique_ptr<Leave> leave(static_cast<Leave*>(one));
        leave->write(nccl_success);
    }
};

SeenCall seen(const Communicator& comm, const Collective& call, std::int64_t number) {
    const bool reduces = call.which == Function::all_reduce || call.which == Function::reduce ||
                         call.which == Function::reduce_scatter;
    return {comm.rank->rank,
            comm.number,
            number,
            op_of(call.which),
            call.root,
            static_cast<std::int64_t>(call.count),
            dtype_of(call.dtype),
            reduces ? reduce_of(call.reduce) : results::ReduceOp::none};
}

int code_of(results::Code answer) {
    const int code = static_cast<int>(answer);
    return code >= 0 && code <= nccl_in_progress ? code : static_cast<int>(results::Code::internal_error);
}

}  // namespace

Group& Group::of_thread() {
    thread_local Group group;
    return group;
}

void Group::after_launch(int code, AfterLaunch then) {
    if (depth == 0 || is_failure(code)) return then(code);
    waiting.push_back(std::move(then));
}

void Group::ended(int code) {
    if (depth > 0) --depth;
    if (depth > 0) return;
    std::vector<AfterLaunch> now;
    now.swap(waiting);
    for (const AfterLaunch& then : now) then(code);
}

Interposer::Interposer() : session_([this](RankSession& rank) { greet(rank); }), communicators_(session_) {}

Interposer& Interposer::here() {
    static Interposer* const one = new Interposer;
    return *one;
}

int Interposer::version() { return session_.rank().faults.version(); }

void Interposer::failed(Communicator& comm, int code) {
    auto* words = real<const char*(CommHandle)>(Function::get_last_error);
    auto* name = real<const char*(int)>(Function::get_error_string);
    std::string message = name ? name(code) : "";
    if (const char* last = words ? words(nullptr) : nullptr; last && *last)
        message += ": " + std::string(last);
    Line line("comm.error", comm.rank->rank);
    line.add("comm", comm.number).add("code", results::name_of(static_cast<results::Code>(code)));
    comm.rank->evidence.write(line.add("message", message));
}

std::optional<int> Interposer::apply_fault(RankSession& rank, std::uint32_t comm, const Decision& decision) {
    if (!decision.any) return std::nullopt;
    sleep_for(decision.alteration.delay.count());
    if (decision.alteration.answer == results::Code::ok) return std::nullopt;
    const int code = code_of(decision.alteration.answer);
    Line line("comm.error", rank.rank);
    line.add("comm", comm).add("code", results::name_of(static_cast<results::Code>(code))).add("message", "");
    if (is_failure(code)) rank.evidence.write(line);
    return code;
}

int Interposer::collective(const Collective& asked) {
    const Inside guard;
    Communicator& comm = communicators_.of(asked.comm);
    RankSession& rank = *comm.rank;
    const Decision decision = rank.faults.at(moment_of(asked.which), comm.name);
    if (const auto answer = apply_fault(rank, comm.number, decision)) return *answer;
    const Alteration& how = decision.alteration;
    if (how.hold) {
        const std::lock_guard lock(guard_);
        held_.push_back({&comm, asked});
        return nccl_success;
    }
    if (how.skip) return nccl_success;
    const Altered altered = decision.any ? alter(asked, how, device_) : Altered{asked, {}, {}};
    if (!altered.refused.empty()) rank.faults.refuse(decision.fault, altered.refused);
    const int code = carry_out(comm, altered, how.never_completes);
    issue_held(rank);
    return code;
}

void Interposer::issue_held(RankSession& rank) {
    std::vector<Held> mine;
    {
        const std::lock_guard lock(guard_);
        std::erase_if(held_, [&](const Held& held) {
            const bool is_mine = held.comm->rank == &rank;
            if (is_mine) mine.push_back(held);
            return is_mine;
        });
    }
    for (const Held& held : mine) carry_out(*held.comm, {held.call, {}, {}}, false);
}

int Interposer::carry_out(Communicator& comm, const Altered& altered, bool never) {
    const Collective& call = altered.call;
    const bool message = is_message(call.which);
    const std::int64_t number = message ? ++comm.messages : ++comm.collectives;
    if (session_.evidence()) comm.rank->evidence.write(enter_line(seen(comm, call, number)));
    if (never) sleep_forever();
    const int code = issue(call);
    Group::of_thread().after_launch(code, [this, &comm, altered, number](int launched) {
        if (!is_failure(launched)) {
            for (const auto& then : altered.afterwards) then();
        }
        left(comm, altered.call, number, launched);
    });
    return code;
}

void Interposer::left(Communicator& comm, const Collective& call, std::int64_t number, int code) {
    if (!session_.evidence()) return;
    auto leave = std::make_unique<Leave>(Leave{&comm.rank->evidence, seen(comm, call, number)});
    if (is_failure(code)) {
        leave->write(code);
        failed(comm, code);
    } else if (device_.when_done(call.stream, &Leave::landed, leave.get())) {
        (void)leave.release();
    } else {
        leave->write(nccl_success);
    }
}

std::optional<int> Interposer::other(Function which, CommHandle handle) {
    RankSession* rank = nullptr;
    std::string_view name;
    std::uint32_t number = 0;
    if (handle) {
        Communicator& comm = communicators_.of(handle);
        rank = comm.rank, name = comm.name, number = comm.number;
    } else {
        rank = &session_.rank();
    }
    const Decision decision = rank->faults.at(moment_of(which), name);
    if (const auto answer = apply_fault(*rank, number, decision)) return answer;
    if (decision.alteration.never_completes) sleep_forever();
    if (decision.alteration.skip) return nccl_success;
    return std::nullopt;
}

// ── Communicators come and go: what is written down of it, and the first look at a rank.

namespace {

std::string version_text(int version) {
    if (version < 10000) return std::to_string(version);
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

}  // namespace

void Interposer::greet(RankSession& rank) {
    int version = rank.faults.version();
    if (auto* ask = real<int(int*)>(Function::get_version); version == 0 && ask) ask(&version);
    greet_rank(rank, "nccl=" + version_text(version), "LOCAL_RANK");
}

int Interposer::open(CommHandle* made, int ranks, int rank, const Config* config,
                     const std::function<int(int, int)>& make) {
    const Inside guard;
    Communicator& comm = communicators_.begin(rank, config);
    const Decision decision = comm.rank->faults.at("comm_init", comm.name);
    if (const auto answer = apply_fault(*comm.rank, comm.number, decision)) return *answer;
    const Alteration& how = decision.alteration;
    if (how.skip) return nccl_success;
    ranks = how.count_set >= 0 ? static_cast<int>(how.count_set) : ranks + static_cast<int>(how.count_change);
    if (how.root >= 0) rank = how.root;
    Line line("comm.init.enter", comm.rank->rank);
    line.add("comm", comm.number).add("size", ranks).add("rank_in_comm", rank).add("name", comm.name);
    comm.rank->evidence.write(line.add("members", comm.number == 1 ? members_text(ranks) : ""));
    if (how.never_completes) sleep_forever();
    const int code = make(ranks, rank);
    Group::of_thread().after_launch(code, [this, &comm, made](int then) { opened(comm, made, then); });
    return code;
}

int Interposer::derive(CommHandle parent, CommHandle* made, const Config* config,
                       const std::function<int()>& make) {
    const Inside guard;
    Communicator& comm = communicators_.begin(communicators_.of(parent).rank->rank, config);
    const Decision decision = comm.rank->faults.at("comm_init", comm.name);
    if (const auto answer = apply_fault(*comm.rank, comm.number, decision)) return *answer;
    if (decision.alteration.skip) return nccl_success;
    Line line("comm.init.enter", comm.rank->rank);  // how many will be in it shows only when it is made
    line.add("comm", comm.number).add("size", 0).add("rank_in_comm", -1).add("name", comm.name);
    comm.rank->evidence.write(line.add("members", ""));
    if (decision.alteration.never_completes) sleep_forever();
    const int code = make();
    Group::of_thread().after_launch(code, [this, &comm, made](int then) { opened(comm, made, then); });
    return code;
}

void Interposer::opened(Communicator& comm, CommHandle* made, int code) {
    if (!is_failure(code) && made && *made) communicators_.made(comm, *made);
    Line line("comm.init.leave", comm.rank->rank);
    const results::Code result = is_failure(code) ? static_cast<results::Code>(code) : results::Code::ok;
    line.add("comm", comm.number).add("result", results::name_of(result)).add("transport", "");
    comm.rank->evidence.write(line);
    if (is_failure(code)) failed(comm, code);
}

// Programs poll all the time: an error is written down when it appears, not at each poll.
int Interposer::polled(CommHandle handle, int code, const int* error) {
    if (code != nccl_success || !error || !handle) return code;
    Communicator& comm = communicators_.of(handle);
    if (is_failure(*error) && comm.last_error != *error) {
        const Inside guard;
        failed(comm, *error);
    }
    comm.last_error = *error;
    return code;
}

void Interposer::aborted(CommHandle handle) {
    Communicator& comm = communicators_.of(handle);
    Line line("comm.abort", comm.rank->rank);
    comm.rank->evidence.write(line.add("comm", comm.number));
}

// What was held back goes out before its communicator does.
void Interposer::gone(CommHandle handle) {
    const Inside guard;
    issue_held(*communicators_.of(handle).rank);
}

}  // namespace deadrank::inject::shims
