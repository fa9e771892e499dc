// inject/shims/nccl/opening.cpp — Communicators come and go: what is written down of it, and the first look
// at a rank.
#include <cstdlib>
#include <unistd.h>

#include "inject/shims/core/process.h"
#include "inject/shims/nccl/interposer.h"

extern char** environ;

namespace deadrank::inject::shims {

namespace {

std::string version_text(int version) {
    if (version < 10000) return std::to_string(version);
    return std::to_string(version / 10000) + "." + std::to_string(version / 100 % 100) + "." +
           std::to_string(version % 100);
}

bool is_telling(std::string_view setting) {
    for (const char* start :
         {"NCCL_", "CUDA_VISIBLE", "RANK=", "WORLD_SIZE=", "LOCAL_RANK=", "OMPI_COMM_WORLD_"}) {
        if (setting.starts_with(start)) return true;
    }
    return false;
}

std::string telling_environment() {
    std::string lines;
    for (char** one = environ; one && *one; ++one) {
        if (is_telling(*one)) lines += (lines.empty() ? "" : "\n") + std::string(*one);
    }
    return lines;
}

std::string all_of(int ranks) { return ranks > 1 ? "0-" + std::to_string(ranks - 1) : "0"; }

}  // namespace

// Where another watcher of this rank has begun the file, it has said who the rank is.
void Interposer::greet(RankSession& rank) {
    if (!rank.evidence.open() || !rank.evidence.empty()) return;
    char host[256] = {};
    ::gethostname(host, sizeof host - 1);
    const char* local = std::getenv("LOCAL_RANK");
    int version = rank.faults.version();
    if (auto* ask = real<int(int*)>(Function::get_version); version == 0 && ask) ask(&version);
    Line line("rank.start", rank.rank);
    line.add("pid", ::getpid()).add("node", 0).add("gpu", local ? std::atoi(local) : 0).add("host", host);
    line.add("versions", "nccl=" + version_text(version)).add("environment", telling_environment());
    rank.evidence.write(line);
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
    comm.rank->evidence.write(line.add("members", comm.number == 1 ? all_of(ranks) : ""));
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
