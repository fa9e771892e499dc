// inject/shims/core/session.h — One process under a shim: who it is, its plan, its evidence file.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "inject/shims/core/call_lines.h"
#include "inject/shims/core/shim_plan.h"
#include "results/record/time.h"

namespace deadrank::inject::shims {

// ── What a fault does to the whole process that it runs in.

void kill_process(int signal);
void leave_process(int code, const std::string& says);

// Stops until it is continued. With a time, a helper process does that: a stopped process cannot wake
// itself.
void stop_process(std::int64_t nanoseconds);

void sleep_for(std::int64_t nanoseconds);
[[noreturn]] void sleep_forever();

// Which rank this process is: NCCL's plugin interfaces say so too late.
// From DEADRANK_RANK, RANK (torchrun), OMPI_COMM_WORLD_RANK (mpirun), PMI_RANK
// (hydra) or SLURM_PROCID, in this order; no_rank
// when none of them holds a number. Then a communicator says which rank is meant.
results::Rank rank_of_process();

// What one loaded shim holds: the plan, and for each rank of this process its faults, its evidence and its
// truth. All of it is found in the environment; without that, a shim does nothing. DEADRANK_PLAN is the plan
// file; DEADRANK_EVIDENCE a directory: evidence goes to rank<R>.jsonl there, truth to ../truth/rank<R>.jsonl;
// DEADRANK_STARTED the nanoseconds since 1970 at which the job began, by default when the shim started.
struct RankSession {
    RankSession(const ShimPlan& plan, Rank number, const std::string& directory, std::int64_t started);

    const Rank rank;
    LineFile evidence, truth;
    Faults faults;
};

class Session {
public:
    // Is there anything to do in this process at all?
    static bool wanted();

    // A plan that cannot be read is reported on stderr, and nothing is injected. `greet` sees each rank once,
    // after its start-up faults were pulled. A shim that gives none leaves these, and faults by time, to
    // another: of several shims in one process only one may pull them.
    explicit Session(std::function<void(RankSession&)> greet = {});

    // `known`: the rank that a communicator gave, for processes whose environment names none.
    RankSession& rank(Rank known = results::no_rank);

    bool evidence() const { return !directory_.empty(); }
    const ShimPlan& plan() const { return plan_; }

private:
    ShimPlan plan_;
    std::string directory_;
    std::int64_t started_ = 0;
    std::function<void(RankSession&)> greet_;
    Rank of_process_;
    std::mutex guard_;
    std::map<Rank, std::unique_ptr<RankSession>> ranks_;
};

// The first line of a rank's evidence: which rank it is, what it runs with, and what its environment says.
// Left out where another watcher of this rank has begun the file with it. `versions`: "nccl=2.28.9";
// `local_rank`: the variable with this rank's number on its node.
void greet_rank(RankSession& rank, const std::string& versions, const char* local_rank);

std::string members_text(int ranks);  // "0-3": all of them

// Whose call is it? Asked at each call of a shim, so it is one load when there is nothing to do.
inline bool awake() {
    static const bool wanted = Session::wanted();
    return wanted;
}

// Libraries call their own public functions, too. Those calls are not the program's.
class Inside {
public:
    Inside() { ++depth(); }
    ~Inside() { --depth(); }
    Inside(const Inside&) = delete;
    Inside& operator=(const Inside&) = delete;
    static bool now() { return depth() > 0; }

private:
    static int& depth();
};

inline bool watching() { return awake() && !Inside::now(); }

}  // namespace deadrank::inject::shims
