// inject/shims/core/session.h — What one loaded shim holds: the plan, and for each rank of this process its
// faults, its evidence and its truth. All of it is found in the environment; without that, a shim sleeps.
//   DEADRANK_PLAN       the plan file
//   DEADRANK_EVIDENCE   a directory: evidence goes to rank<R>.jsonl there, truth to ../truth/rank<R>.jsonl
//   DEADRANK_STARTED    nanoseconds since 1970 at which the job began; else when the shim woke
#pragma once

#include <functional>
#include <map>
#include <memory>
#include <mutex>

#include "inject/shims/core/faults.h"
#include "inject/shims/core/line_file.h"
#include "inject/shims/core/plan.h"

namespace deadrank::inject::shims {

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

    // A plan that cannot be read is said on stderr, and nothing is injected. `greet` sees each rank once,
    // when its faults of the start were pulled. A shim that gives none leaves those, and the clock's, to
    // another: of several in one process only one may pull them.
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

}  // namespace deadrank::inject::shims
