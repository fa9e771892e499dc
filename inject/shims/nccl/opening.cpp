// inject/shims/nccl/opening.cpp — Communicators come and go: what is written down of it, and the first look
// at a rank.
#include "inject/shims/core/greeting.h"
#include "inject/shims/core/process.h"
#include "inject/shims/nccl/interposer.h"

namespace deadrank::inject::shims {

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
    if (const auto answer = suffer(*comm.rank, comm.number, decision)) return *answer;
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
    if (const auto answer = suffer(*comm.rank, comm.number, decision)) return *answer;
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

// Programs poll all the time: an error is written down when it appears, not at each look.
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
